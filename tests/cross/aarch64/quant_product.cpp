// Products of quantized weights with rows of activations, at every level, against dequantized weights times
// quantized activations in double.
#include "backends/cpu/kernels/matmul/quant_activations.h"
#include "backends/cpu/kernels/matmul/quant_kernels.h"
#include "backends/cpu/kernels/matmul/quant_matmul.h"
#include "runtime/base/half.h"
#include "runtime/tensor/types.h"
#include "tests/cross/aarch64/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ggml::cross {
namespace {

using namespace cpu::matmul;

struct Problem {
    ggml_type type;
    int64_t m, k, n; // activation rows, elements, weight rows
    std::vector<uint8_t> weights;
    std::vector<float> x;

    Problem(ggml_type t, int64_t rows, int64_t length, int64_t weight_rows)
        : type(t), m(rows), k(length), n(weight_rows) {
        Random random(uint32_t(type) * 1000u + uint32_t(m * 31 + n));
        const TypeInfo & info = type_info(type);
        weights.resize(size_t(n * k / info.block) * info.bytes);
        info.from_float(random.floats(n * k).data(), weights.data(), n * k);
        x = random.floats(m * k);
    }
    size_t row_bytes() const { return weights.size() / size_t(n); }
};

std::vector<double> expected_product(const Problem & p) {
    std::vector<float> w(size_t(p.n * p.k));
    type_info(p.type).to_float(p.weights.data(), w.data(), p.n * p.k);
    std::vector<double> a, y;
    const int shared = shared_blocks(p.type);
    for (int64_t b = 0; b < p.m * p.k / kBlock; b += shared) {
        ActBlock blocks[kSuperBlock / kBlock];
        quantize_act_blocks(p.x.data() + b * kBlock, shared, blocks, 1);
        for (int i = 0; i < shared * kBlock; ++i)
            a.push_back(double(blocks[i / kBlock].d) * blocks[i / kBlock].q[i % kBlock]);
    }
    for (int64_t i = 0; i < p.m * p.n; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < p.k; ++j)
            sum += double(w[size_t(i % p.n * p.k + j)]) * a[size_t(i / p.n * p.k + j)];
        y.push_back(sum);
    }
    return y;
}

std::vector<float> product(const Problem & p, int n_threads) {
    const cpu::Team team(n_threads);
    std::vector<float> y(size_t(p.m * p.n), -777.0f);
    std::vector<RowPair> pairs;
    for (int64_t i = 0; i < p.m; ++i)
        pairs.push_back({reinterpret_cast<const char *>(p.x.data() + i * p.k), y.data() + i * p.n});
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    std::vector<Line> scratch((quant_scratch(p.k, p.m, n_threads) + 63) / 64);
    const Weights weights{p.type, reinterpret_cast<const char *>(p.weights.data()), p.row_bytes(), 0, p.n,
                          p.k};
    const ggml_status status =
        quant_product(team, weights, pairs, {GGML_TYPE_F32, sizeof(float)},
                      {scratch.empty() ? nullptr : scratch[0].bytes, scratch.size() * sizeof(Line)});
    require(status == GGML_STATUS_SUCCESS, "the product of %s ended with status %d", type_info(p.type).name,
            int(status));
    return y;
}

void compare(const Problem & p, const char * what, double abs, double rel = 0) {
    const std::vector<double> want = expected_product(p);
    for (cpu::Isa isa : levels()) {
        require(cpu::set_isa_cap(isa), "cannot use level %s", cpu::isa_name(isa));
        const std::vector<float> got = product(p, 1);
        for (size_t i = 0; i < want.size(); ++i) {
            require(is_close(got[i], want[i], abs, rel),
                    "%s: %s at %s, m %d k %d n %d: element %d is %.9g, expected %.9g", what,
                    type_info(p.type).name, quant_kernels().name, int(p.m), int(p.k), int(p.n), int(i),
                    got[i], want[i]);
        }
        const std::vector<float> three = product(p, 3);
        require(std::memcmp(got.data(), three.data(), got.size() * sizeof(float)) == 0,
                "%s: three threads change the bytes of %s at %s", what, type_info(p.type).name,
                quant_kernels().name);
    }
    cpu::set_isa_cap(cpu::Isa::all);
}

// Integer sums are exact. What is left is the rounding of one float term per block of 32.
double for_length(int64_t k) { return 4e-7 * (16 + double(k) / 8); }

// One row for each tile height, weight rows on both sides of panels of 16 and of pairs of panels.
void check_odd_shapes(ggml_type type) {
    const int64_t block = type_info(type).block;
    const int64_t shapes[][2] = {{1, 1},  {1, 37}, {2, 16}, {3, 33}, {4, 17}, {5, 31},
                                 {6, 32}, {7, 2},  {8, 15}, {9, 65}, {11, 61}};
    for (const auto & [m, n] : shapes) {
        const int64_t k = n % 2 == 0 ? block : 3 * block;
        compare(Problem(type, m, k, n), "odd shapes", for_length(k));
    }
    // Panels are 2048 elements deep: the second one adds to the results of the first.
    compare(Problem(type, 8, 2304, 35), "long rows", for_length(2304));
}

template <class Block>
void fill_block(Block & block, int byte, uint16_t scale) {
    std::memset(&block, byte, sizeof block);
    block.d = scale;
    if constexpr (requires { block.m; }) block.m = scale;
    if constexpr (requires { block.dmin; }) block.dmin = scale;
}

// Every bit of the codes set or clear, activations at both ends: sums of products as large as they get, which
// 16-bit intermediate sums would clip. Scales are such that the largest weight is about 1.
template <ggml_type T>
void check_extreme_codes() {
    using Block = typename QuantTraits<T>::Block;
    constexpr int64_t kElements = QuantTraits<T>::kElements;
    for (int byte : {0x00, 0xff, 0x80, 0x7f}) {
        Block block;
        float w[kElements];
        fill_block(block, byte, float_to_half(1.0f));
        type_info(T).to_float(&block, w, kElements);
        float largest = 0;
        for (float v : w) largest = std::max(largest, std::fabs(v));
        fill_block(block, byte, float_to_half(largest > 0 ? 1 / largest : 1.0f));
        for (int64_t m : {1, 6}) {
            Problem p(T, m, 2 * kElements, 5);
            for (size_t at = 0; at < p.weights.size(); at += sizeof block)
                std::memcpy(p.weights.data() + at, &block, sizeof block);
            for (int64_t i = 0; i < m * p.k; ++i) p.x[size_t(i)] = i / p.k % 2 == 0 ? 1.0f : -1.0f;
            compare(p, "extreme codes", 1e-4, 2e-6);
        }
    }
}

// One bad activation spoils its row, one bad scale its column, and nothing else.
template <ggml_type T>
void check_not_a_number() {
    using Block = typename QuantTraits<T>::Block;
    for (int64_t m : {2, 7}) {
        Problem p(T, m, 2 * QuantTraits<T>::kElements, 19);
        p.x[size_t(2 * p.k - 5)] = m == 2 ? HUGE_VALF : NAN;
        reinterpret_cast<Block *>(p.weights.data() + 13 * p.row_bytes())->d = 0x7e01;
        const std::vector<double> want = expected_product(p);
        for (int64_t i = 0; i < m * p.n; ++i) {
            require(std::isnan(want[size_t(i)]) == (i / p.n == 1 || i % p.n == 13),
                    "%s: element %d of the reference", type_info(T).name, int(i));
        }
        compare(p, "not a number", for_length(p.k));
    }
}

template <ggml_type T>
void check_type() {
    check_odd_shapes(T);
    check_extreme_codes<T>();
    check_not_a_number<T>();
    passed("products of %s: odd shapes, long rows, extreme codes, NaN, three threads", type_info(T).name);
}

} // namespace

void check_quant_product() {
#define GGML_CHECK_TYPE(name) check_type<GGML_TYPE_##name>();
    GGML_FOR_EACH_QUANT(GGML_CHECK_TYPE)
#undef GGML_CHECK_TYPE
}

} // namespace ggml::cross
