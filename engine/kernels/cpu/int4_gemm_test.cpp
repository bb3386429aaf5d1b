// The pieces of products with packed 4-bit weights, against sums in 64 bits.
#include "kernels/cpu/int4_gemm.h"

#include "kernels/cpu/test_memory.h"
#include "ops/common/cpu.h"
#include "ops/common/target.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#if defined(__x86_64__)
// The code of AVX-VNNI with the same instruction in AVX-512's encoding, for processors that have only that.
SD_TARGET_AVX512VNNI
namespace sd::evex {
namespace {

#    include "kernels/cpu/int8_gemm_pack_inl.h"

struct Isa {
    using Act = int8_t;
    static constexpr int kStep = 4, kChunk = 32;
    static constexpr uint8_t kFlip = 0;
    static __m256i panel(const uint8_t * p) {
        return _mm256_load_si256(reinterpret_cast<const __m256i *>(p));
    }
    static __m256i chunk(const int8_t * w) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(w));
    }
    static __m256i add(__m256i sum, __m256i w, __m256i x) { return _mm256_dpbusd_epi32(sum, w, x); }
    static __m256i add_two(__m256i sum, __m256i w0, __m256i x0, __m256i w1, __m256i x1) {
        return add(add(sum, w0, x0), w1, x1);
    }
};

#    include "kernels/cpu/int4_gemm_x86_inl.h"
#    include "kernels/cpu/int8_gemm_x86_inl.h"

#    include "kernels/cpu/int4_gemm_x86_256_inl.h"

constexpr Int8Gemm kNibbleGemm = nibble_gemm();

} // namespace
} // namespace sd::evex
SD_TARGET_END
#endif

namespace sd::test {
namespace {

struct Named {
    std::string name;
    const Int8Gemm * gemm;
};

std::vector<Named> usable() {
    std::vector<Named> all = {{"scalar", &int4_gemm_scalar()}};
#if defined(__x86_64__)
    if (cpu_may_use(Isa::avx2)) all.push_back({"avx2", &int4_gemm_avx2()});
    if (cpu_may_use(Isa::avxvnni)) all.push_back({"avxvnni", &int4_gemm_avxvnni()});
    if (cpu_may_use(Isa::avx512vnni)) all.push_back({"avxvnni in AVX-512's encoding", &evex::kNibbleGemm});
    if (cpu_may_use(Isa::avx512vnni)) all.push_back({"avx512vnni", &int4_gemm_avx512vnni()});
#elif defined(__aarch64__)
    if (cpu_may_use(Isa::neon_dotprod)) all.push_back({"neon_dotprod", &int4_gemm_neon_dotprod()});
#endif
    return all;
}

// Random, or all the same.
struct Fill {
    bool random;
    uint8_t code, weights;
};
constexpr Fill kRandom = {true, 0, 0};

struct Operands {
    int m, n;
    int64_t k;
    AtTheEnd codes, weights; // weights: rows of k / 2 bytes
    Operands(int m_, int n_, int64_t k_, Fill fill)
        : m(m_), n(n_), k(k_), codes(size_t(m_ * k_)), weights(size_t(n_ * k_ / 2)) {
        std::mt19937 random(uint32_t(m * 1000 + n * 10 + int(k)));
        for (int64_t i = 0; i < m * k; ++i)
            codes.data()[i] = int8_t(fill.random ? uint8_t(random() >> 24) : fill.code);
        for (int64_t i = 0; i < n * k / 2; ++i)
            weights.data()[i] = int8_t(fill.random ? uint8_t(random() >> 24) : fill.weights);
    }
    int32_t sum(int r, int c) const {
        int64_t total = 0;
        for (int64_t i = 0; i < k; ++i) {
            const int8_t byte = weights.data()[c * (k / 2) + i / 2];
            const int weight = i % 2 == 0 ? int8_t(uint8_t(byte) << 4) / 16 : byte >> 4;
            total += int64_t(codes.data()[r * k + i]) * weight;
        }
        return int32_t(total);
    }
};

void check_tile(const Named & named, const Operands & o) {
    const Int8Gemm & gemm = *named.gemm;
    const int64_t padded = int8_padded(o.k, gemm.step);
    const Aligned<uint8_t> panel(int8_panel_bytes(gemm, o.k));
    const Aligned<char> packed(size_t(o.m * padded * gemm.act_bytes));
    const Aligned<int32_t> sums(size_t(gemm.rows * gemm.columns));
    std::vector<int32_t> start(size_t(o.m));
    gemm.pack_panel(panel.data, o.weights.data(), o.k / 2, o.n, o.k);
    gemm.pack_rows(packed.data, start.data(), o.codes.data(), o.k, o.m, o.k);
    gemm.tile(sums.data, panel.data, packed.data, start.data(), o.m, padded / gemm.step);
    for (int r = 0; r < o.m; ++r) {
        for (int c = 0; c < o.n; ++c)
            ASSERT_EQ(sums.data[r * gemm.columns + c], o.sum(r, c))
                << named.name << ", K " << o.k << ", row " << r << " of " << o.m << ", column " << c;
    }
}

void check_dots(const Named & named, const Operands & o) {
    const Int8Gemm & gemm = *named.gemm;
    const size_t row_bytes = (size_t(int8_padded(o.k, gemm.row_pad) * gemm.act_bytes) + 63) / 64 * 64;
    const Aligned<char> rows(size_t(o.m) * row_bytes);
    std::vector<int32_t> start(size_t(o.m)), sums(size_t(o.m * o.n));
    for (int r = 0; r < o.m; ++r) {
        gemm.prepare_row(rows.data + size_t(r) * row_bytes, &start[size_t(r)], o.codes.data() + r * o.k, o.k);
    }
    gemm.dots(sums.data(), o.n, o.weights.data(), o.k / 2, o.n, rows.data, row_bytes, start.data(), o.m, o.k);
    for (int r = 0; r < o.m; ++r) {
        for (int c = 0; c < o.n; ++c)
            ASSERT_EQ(sums[size_t(r * o.n + c)], o.sum(r, c))
                << named.name << ", K " << o.k << ", row " << r << " of " << o.m << ", column " << c;
    }
}

const std::vector<int64_t> kLengths = {2,  4,  6,  8,   10,  14,  16,  18,  30,  32,  34,
                                       62, 64, 66, 126, 128, 130, 254, 258, 510, 514, 1000};

TEST(int4_gemm, tiles_are_exact_for_every_number_of_rows_and_columns) {
    for (const Named & named : usable()) {
        for (const int64_t k : kLengths) {
            for (int m = 1; m <= named.gemm->rows; ++m) {
                for (int n = 1; n <= named.gemm->columns; n += n < 18 ? 1 : 15)
                    check_tile(named, {m, n, k, kRandom});
            }
            check_tile(named, {named.gemm->rows, named.gemm->columns, k, kRandom});
        }
    }
}

TEST(int4_gemm, dot_products_are_exact_and_read_nothing_behind_the_weights) {
    for (const Named & named : usable()) {
        for (const int64_t k : kLengths) {
            for (int m = 1; m <= kInt8DotRows; ++m) {
                for (const int n : {1, 2, 3, 4, 5, 7, 8, 16}) check_dots(named, {m, n, k, kRandom});
            }
        }
    }
}

TEST(int4_gemm, sums_of_extreme_products_do_not_saturate) {
    for (const Named & named : usable()) {
        for (const uint8_t code : {0x80, 0x7f}) {
            for (const uint8_t weights : {0x88, 0x77, 0x78, 0xf0}) {
                for (const int64_t k : {int64_t(2), int64_t(64), int64_t(4098), kInt8MaxK - 1}) {
                    check_tile(named, {named.gemm->rows, 3, k, {false, code, weights}});
                    check_dots(named, {kInt8DotRows, 3, k, {false, code, weights}});
                }
            }
        }
    }
}

} // namespace
} // namespace sd::test
