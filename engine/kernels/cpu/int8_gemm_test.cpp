// The pieces of INT8 products, against sums in 64 bits.
#include "kernels/cpu/int8_gemm.h"

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
    static constexpr uint8_t kFlip = 0x80;
    static __m256i panel(const uint8_t * p) {
        return _mm256_load_si256(reinterpret_cast<const __m256i *>(p));
    }
    static __m256i chunk(const int8_t * w) {
        return _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(w)),
                                _mm256_set1_epi8(char(0x80)));
    }
    static __m256i add(__m256i sum, __m256i w, __m256i x) { return _mm256_dpbusd_epi32(sum, w, x); }
};

#    include "kernels/cpu/int8_gemm_x86_inl.h"

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
    std::vector<Named> all = {{"scalar", &int8_gemm_scalar()}};
#if defined(__x86_64__)
    if (cpu_may_use(Isa::avx2)) all.push_back({"avx2", &int8_gemm_avx2()});
    if (cpu_may_use(Isa::avxvnni)) all.push_back({"avxvnni", &int8_gemm_avxvnni()});
    if (cpu_may_use(Isa::avx512vnni)) all.push_back({"avxvnni in AVX-512's encoding", &evex::kGemm});
    if (cpu_may_use(Isa::avx512vnni)) all.push_back({"avx512vnni", &int8_gemm_avx512vnni()});
#elif defined(__aarch64__)
    if (cpu_may_use(Isa::neon_dotprod)) all.push_back({"neon_dotprod", &int8_gemm_neon_dotprod()});
#endif
    return all;
}

enum class Fill { random, lowest, highest };

void fill(int8_t * p, size_t n, Fill how, std::mt19937 & random) {
    for (size_t i = 0; i < n; ++i)
        p[i] = how == Fill::random   ? int8_t(random() >> 24)
               : how == Fill::lowest ? int8_t(-128)
                                     : int8_t(127);
}

int32_t dot(const int8_t * a, const int8_t * b, int64_t k) {
    int64_t sum = 0;
    for (int64_t i = 0; i < k; ++i) sum += int64_t(a[i]) * b[i];
    return int32_t(sum);
}

struct Operands {
    int m, n;
    int64_t k;
    AtTheEnd codes, weights;
    Operands(int m_, int n_, int64_t k_, Fill code, Fill weight)
        : m(m_), n(n_), k(k_), codes(size_t(m_ * k_)), weights(size_t(n_ * k_)) {
        std::mt19937 random(uint32_t(m * 1000 + n * 10 + int(k)));
        fill(codes.data(), size_t(m * k), code, random);
        fill(weights.data(), size_t(n * k), weight, random);
    }
    int32_t sum(int r, int c) const { return dot(codes.data() + r * k, weights.data() + c * k, k); }
};

void check_tile(const Named & named, const Operands & o) {
    const Int8Gemm & gemm = *named.gemm;
    const int64_t padded = int8_padded(o.k, gemm.step);
    const Aligned<uint8_t> panel(int8_panel_bytes(gemm, o.k));
    const Aligned<char> packed(size_t(o.m * padded * gemm.act_bytes));
    const Aligned<int32_t> sums(size_t(gemm.rows * gemm.columns));
    std::vector<int32_t> start(size_t(o.m));
    gemm.pack_panel(panel.data, o.weights.data(), o.k, o.n, o.k);
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
    gemm.dots(sums.data(), o.n, o.weights.data(), o.k, o.n, rows.data, row_bytes, start.data(), o.m, o.k);
    for (int r = 0; r < o.m; ++r) {
        for (int c = 0; c < o.n; ++c)
            ASSERT_EQ(sums[size_t(r * o.n + c)], o.sum(r, c))
                << named.name << ", K " << o.k << ", row " << r << " of " << o.m << ", column " << c;
    }
}

const std::vector<int64_t> kLengths = {1,  2,  3,  4,  5,   15,  16,  17,  31,
                                       33, 63, 64, 65, 127, 129, 255, 257, 1000};

TEST(int8_gemm, tiles_are_exact_for_every_number_of_rows_and_columns) {
    for (const Named & named : usable()) {
        for (const int64_t k : kLengths) {
            for (int m = 1; m <= named.gemm->rows; ++m) {
                for (int n = 1; n <= named.gemm->columns; n += n < 18 ? 1 : 15)
                    check_tile(named, {m, n, k, Fill::random, Fill::random});
            }
            check_tile(named, {named.gemm->rows, named.gemm->columns, k, Fill::random, Fill::random});
        }
    }
}

TEST(int8_gemm, dot_products_are_exact_and_read_nothing_behind_the_weights) {
    for (const Named & named : usable()) {
        for (const int64_t k : kLengths) {
            for (int m = 1; m <= kInt8DotRows; ++m) {
                for (const int n : {1, 2, 3, 4, 5, 7, 8, 16})
                    check_dots(named, {m, n, k, Fill::random, Fill::random});
            }
        }
    }
}

TEST(int8_gemm, pairs_of_extreme_products_do_not_saturate) {
    for (const Named & named : usable()) {
        for (const Fill code : {Fill::lowest, Fill::highest}) {
            for (const Fill weight : {Fill::lowest, Fill::highest}) {
                for (const int64_t k : {int64_t(2), int64_t(64), int64_t(4100), kInt8MaxK}) {
                    check_tile(named, {named.gemm->rows, 3, k, code, weight});
                    check_dots(named, {kInt8DotRows, 3, k, code, weight});
                }
            }
        }
    }
}

TEST(int8_gemm, sums_are_scaled_in_order_with_every_rounding) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> values(-2.0f, 2.0f);
    for (const Named & named : usable()) {
        for (const int n : {1, 3, 16, 37, 64}) {
            std::vector<int32_t> sums(size_t(n), 0);
            std::vector<float> w(sums.size()), b(sums.size()), y(sums.size());
            for (size_t i = 0; i < sums.size(); ++i) {
                sums[i] = int32_t(random());
                w[i] = values(random);
                b[i] = values(random) * 1e9f;
            }
            for (const int given : {0, 1, 2, 3}) {
                named.gemm->scale_row(y.data(), sums.data(), n, 0.37f, given & 1 ? w.data() : nullptr,
                                      given & 2 ? b.data() : nullptr);
                for (size_t i = 0; i < sums.size(); ++i) {
                    volatile float expected = float(sums[i]);
                    expected = expected * 0.37f;
                    if (given & 1) expected = expected * w[i];
                    if (given & 2) expected = expected + b[i];
                    EXPECT_EQ(y[i], expected) << named.name;
                }
            }
        }
    }
}

} // namespace
} // namespace sd::test
