// Products of all sizes, and of those where sums or indices outgrow 32 bits.
#include "kernels/cpu/int8_matmul.h"
#include "ops/linear_i8/test_layer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <numeric>

namespace sd::test {
namespace {

// One kernel, number of threads and set of optional operands after another.
void check_sizes(int64_t m, int64_t n, int64_t k) {
    Layer layer({k, n}, uint32_t(m * 7 + n * 3 + k));
    ggml_tensor *codes = layer.in.bytes({k, m, 1, 1}), *x_scale = layer.in.floats({m, 1, 1, 1});
    const int choice = int((m + n + k) % 8);
    const Build build = [&](ggml_context * ctx) {
        return ggml_mul_mat_i8_tensorwise(ctx, layer.w, codes, choice & 1 ? layer.scale : nullptr,
                                          choice & 2 ? layer.bias : nullptr, 0,
                                          choice & 4 ? x_scale : nullptr);
    };
    const Outcome expected = reference(build, linear_i8_reference);
    for (const std::string & name : usable_kernel_names()) {
        const RunOptions options = {.n_threads = 1 + choice % 3,
                                    .disabled = all_but(all_kernel_names(), name)};
        expect_same_floats(run(build, options), expected,
                           std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n) + ", " +
                               name);
    }
}

TEST(linear_i8_sizes, every_kernel_gives_the_bits_of_the_reference) {
    std::vector<int64_t> ms(17);
    std::iota(ms.begin(), ms.end(), 1);
    ms.insert(ms.end(), {18, 19, 20, 21, 22, 23, 31, 32, 33, 64, 100});
    for (const int64_t m : ms) {
        for (const int64_t n : {1, 3, 17, 24, 31, 33, 64, 100}) {
            for (const int64_t k : {1, 2, 3, 4, 12, 20, 63, 64, 65, 100, 256, 260, 1000})
                check_sizes(m, n, k);
        }
    }
    for (const int64_t m : {1, 4, 9, 33}) check_sizes(m, 70, 4096);
}

TEST(linear_i8_sizes, full_range_codes_do_not_saturate_pair_sums) {
    for (const int64_t k : {2, 4, 64, 1024, 4099}) {
        for (const int8_t weight : {-128, 127}) {
            for (const int8_t code : {-128, 127}) {
                for (const int64_t m : {1, 4, 40}) {
                    Layer layer({k, 35});
                    ggml_tensor * x = layer.in.tensor(GGML_TYPE_I8, {k, m, 1, 1});
                    std::memset(layer.w->data, weight, ggml_nbytes(layer.w));
                    std::memset(x->data, code, ggml_nbytes(x));
                    layer.check(x, 0, "weight " + std::to_string(weight));
                }
            }
        }
    }
}

TEST(linear_i8_sizes, sums_are_exact_beyond_32_bits) {
    // 131071 is the last K whose sums fit; the first sum that does not is 2^31.
    for (const int64_t k : {131071, 131072, 132105, 300001}) {
        for (const int64_t m : {1, 5, 18}) {
            Layer layer({k, 3});
            ggml_tensor * x = layer.in.bytes({k, m, 1, 1});
            std::memset(layer.w->data, -128, size_t(k));
            std::memset(static_cast<int8_t *>(layer.w->data) + k, 127, size_t(k));
            std::memset(x->data, -128, size_t(k));
            layer.check(x, 0, "K " + std::to_string(k));
        }
    }
    Layer layer({1 << 18, 5});
    layer.check(layer.in.floats({1 << 18, 3, 1, 1}), 256, "rotated");
}

TEST(linear_i8_sizes, takes_more_than_65535_rows) {
    Layer layer({8, 5});
    layer.check(layer.in.floats({8, 66000, 1, 1}), 4, "rows");
    layer.check(layer.in.bytes({8, 300, 221, 1}), 4, "codes");
}

TEST(linear_i8_sizes, a_block_of_rows_after_another_gives_the_same) {
    Layer layer({16384, 6}); // blocks of 16 MiB
    layer.check(layer.in.bytes({16384, 1100, 1, 1}), 0, "blocks");
}

// Results that would not fit into memory: all pieces of their addresses are the same piece of memory.
class Folded {
  public:
    Folded(size_t bytes, size_t piece) : bytes_(bytes) {
        base_ = static_cast<char *>(
            mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        const int file = memfd_create("folded", 0);
        EXPECT_EQ(ftruncate(file, off_t(piece)), 0);
        for (size_t at = 0; at < bytes; at += piece) {
            EXPECT_NE(mmap(base_ + at, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0),
                      MAP_FAILED);
        }
        close(file);
    }
    ~Folded() { munmap(base_, bytes_); }
    Folded(const Folded &) = delete;
    Folded & operator=(const Folded &) = delete;
    float * floats() const { return reinterpret_cast<float *>(base_); }

  private:
    char * base_;
    size_t bytes_;
};

// Row r has the code r % 100.
struct Counting : Int8Source {
    const Int8Gemm & gemm;
    std::vector<int8_t> weight;
    explicit Counting(const Int8Gemm & g, int64_t n) : gemm(g), weight(size_t(n), 1) {}
    const int8_t * rows(int64_t first, int count, void * room, float * scales) const override {
        auto * codes = static_cast<int8_t *>(room);
        for (int r = 0; r < count; ++r) {
            codes[r] = int8_t((first + r) % 100);
            scales[r] = 1.0f;
        }
        return codes;
    }
    void pack_panel(uint8_t * panel, int64_t first, int n) const override {
        gemm.pack_panel(panel, weight.data() + first, 1, n, 1);
    }
    void dots(int32_t * sums, int64_t sums_stride, int64_t first, int n, const void * prepared,
              size_t row_bytes, const int32_t * start, int m, int64_t, int64_t k) const override {
        gemm.dots(sums, sums_stride, weight.data() + first, 1, n, prepared, row_bytes, start, m, k);
    }
};

TEST(linear_i8_sizes, counts_results_beyond_31_bits) {
    constexpr int64_t kN = 256, kM = (int64_t(1) << 31) / kN + 40000;
    constexpr size_t kPiece = size_t(8) << 20;
    const Folded y((size_t(kM) * kN * sizeof(float) + kPiece - 1) / kPiece * kPiece, kPiece);
    const Int8Gemm & gemm =
#if defined(__x86_64__)
        cpu_may_use(Isa::avx512vnni) ? int8_gemm_avx512vnni() :
#endif
                                     int8_gemm_scalar();
    const Counting source(gemm, kN);
    const Int8Plan plan = int8_plan(gemm, kM, kN, 1, 1, 0);
    std::vector<char> workspace(plan.workspace_bytes);
    ggml_backend_ptr backend(ggml_backend_dev_init(cpu_device(), nullptr));
    ASSERT_EQ(int8_multiply(plan, source, {y.floats(), nullptr, nullptr}, backend.get(), workspace.data()),
              GGML_STATUS_SUCCESS);
    for (int64_t row = kM - 1000; row < kM; ++row) {
        ASSERT_EQ(y.floats()[row * kN], float(row % 100));
        ASSERT_EQ(y.floats()[row * kN + kN - 1], float(row % 100));
    }
}

} // namespace
} // namespace sd::test
