// MUL_MAT with block-quantized weights: tightly against dequantized weights times quantized activations,
// loosely against the exact product.
#include "runtime/tensor/blocks.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

namespace ggml::test {
namespace {

constexpr ggml_type kTypes[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
                                GGML_TYPE_Q8_0, GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K,
                                GGML_TYPE_Q5_K, GGML_TYPE_Q6_K};

// Integer sums are exact: what is left is the rounding of one float term per block of 32, and of the offset
// times the sum of activations, which can be larger than the product itself.
Tolerance for_length(int64_t k) { return {4e-7 * (16 + double(k) / 8)}; }

// Where a stored block keeps the codes of its elements, and its scale.
struct BlockFields {
    size_t codes, n_codes, scale;
};
BlockFields fields(ggml_type type) {
    switch (type) {
    case GGML_TYPE_Q4_0: return {offsetof(BlockQ4_0, qs), 16, offsetof(BlockQ4_0, d)};
    case GGML_TYPE_Q4_1: return {offsetof(BlockQ4_1, qs), 16, offsetof(BlockQ4_1, d)};
    case GGML_TYPE_Q5_0: return {offsetof(BlockQ5_0, qh), 20, offsetof(BlockQ5_0, d)};
    case GGML_TYPE_Q5_1: return {offsetof(BlockQ5_1, qh), 20, offsetof(BlockQ5_1, d)};
    case GGML_TYPE_Q8_0: return {offsetof(BlockQ8_0, qs), 32, offsetof(BlockQ8_0, d)};
    case GGML_TYPE_Q2_K: return {offsetof(BlockQ2_K, scales), 80, offsetof(BlockQ2_K, d)};
    case GGML_TYPE_Q3_K: return {offsetof(BlockQ3_K, hmask), 108, offsetof(BlockQ3_K, d)};
    case GGML_TYPE_Q4_K: return {offsetof(BlockQ4_K, scales), 140, offsetof(BlockQ4_K, d)};
    case GGML_TYPE_Q5_K: return {offsetof(BlockQ5_K, scales), 172, offsetof(BlockQ5_K, d)};
    case GGML_TYPE_Q6_K: return {offsetof(BlockQ6_K, ql), 208, offsetof(BlockQ6_K, d)};
    default: ADD_FAILURE() << "no fields of " << ggml_type_name(type); return {};
    }
}

void check(ggml_type type, int64_t m, int64_t k, int64_t n, const RunOptions & options = {}) {
    OpCheck op;
    SCOPED_TRACE(testing::Message() << ggml_type_name(type) << " m " << m << " k " << k << " n " << n);
    ggml_tensor * a = op.input(type, {k, n, 1, 1});
    ggml_tensor * b = op.input(GGML_TYPE_F32, {k, m, 1, 1});
    op.check(ggml_mul_mat(op.ctx(), a, b), for_length(k), options);
}

TEST(mul_mat_quant, equals_the_product_with_quantized_activations_for_odd_sizes) {
    struct Size {
        int64_t m, n;
    };
    RunOptions options;
    options.threads = {1, 3};
    for (ggml_type type : kTypes) {
        const int64_t block = ggml_blck_size(type);
        for (const Size & s : {Size{1, 1},
                               {1, 37},
                               {2, 16},
                               {3, 33},
                               {4, 1},
                               {4, 17},
                               {5, 31},
                               {6, 32},
                               {7, 2},
                               {8, 15},
                               {11, 61},
                               {13, 33},
                               {17, 7},
                               {31, 3},
                               {33, 16}}) {
            check(type, s.m, s.n % 2 == 0 ? block : 3 * block, s.n, options);
        }
    }
}

TEST(mul_mat_quant, joins_the_parts_of_long_rows) {
    // Panels are 2048 elements deep; groups are 128 rows.
    for (ggml_type type : kTypes) check(type, 8, 2304, 133);
    check(GGML_TYPE_Q4_0, 4, 4096 + 96, 9);
}

TEST(mul_mat_quant, splits_many_rows_into_blocks) {
    RunOptions options;
    options.threads = {1, 3};
    options.all_isa_levels = false;
    for (ggml_type type : {GGML_TYPE_Q8_0, GGML_TYPE_Q6_K}) check(type, 1601, 256, 5, options);
}

TEST(mul_mat_quant, gives_identical_bytes_for_one_to_eight_threads) {
    RunOptions options;
    options.threads = {1, 2, 3, 4, 5, 6, 7, 8};
    options.all_isa_levels = false;
    for (ggml_type type : kTypes) {
        check(type, 1, 512, 301, options);
        check(type, 19, 512, 301, options);
    }
}

TEST(mul_mat_quant, follows_strides_and_types_of_activations) {
    for (ggml_type type : {GGML_TYPE_Q4_0, GGML_TYPE_Q2_K}) {
        const int64_t k = 2 * ggml_blck_size(type);
        for (ggml_type b_type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16}) {
            for (Layout layout : {Layout::contiguous, Layout::padded_rows, Layout::transposed01,
                                  Layout::permuted12, Layout::permuted23}) {
                for (int64_t m : {1, 5}) {
                    OpCheck op;
                    ggml_tensor * a = op.input(type, {k, 19, 1, 1});
                    ggml_tensor * b = op.input(b_type, {k, m, 2, 3}, layout);
                    op.check(ggml_mul_mat(op.ctx(), a, b), for_length(k));
                }
            }
        }
    }
}

TEST(mul_mat_quant, repeats_weights_over_dimensions_2_and_3) {
    for (ggml_type type : kTypes) {
        const int64_t k = ggml_blck_size(type);
        for (int64_t m : {1, 3}) {
            OpCheck op;
            ggml_tensor * a = op.input(type, {k, 18, 2, 1});
            ggml_tensor * b = op.input(GGML_TYPE_F32, {k, m, 4, 3});
            op.check(ggml_mul_mat(op.ctx(), a, b), for_length(k));
        }
    }
}

TEST(mul_mat_quant, takes_a_range_of_rows_and_blocks_of_a_larger_matrix) {
    for (ggml_type type : kTypes) {
        const int64_t block = ggml_blck_size(type);
        OpCheck op;
        ggml_tensor * owner = op.input(type, {3 * block, 40, 1, 1});
        // The second and third block of rows 5..27: stored blocks start at any even address.
        ggml_tensor * a = ggml_view_2d(op.ctx(), owner, 2 * block, 23, owner->nb[1],
                                       5 * owner->nb[1] + ggml_type_size(type));
        for (int64_t m : {2, 9}) {
            ggml_tensor * b = op.input(GGML_TYPE_F32, {2 * block, m, 1, 1});
            op.check(ggml_mul_mat(op.ctx(), a, b), for_length(2 * block));
        }
    }
}

TEST(mul_mat_quant, is_exact_for_extreme_codes) {
    // Every bit of the codes set or clear, scales of one, activations at both ends: sums of products as large
    // as they get, which 16-bit intermediate sums would clip.
    for (ggml_type type : kTypes) {
        const int64_t k = 2 * ggml_blck_size(type);
        for (int fill : {0x00, 0xff, 0x80, 0x7f}) {
            for (int64_t m : {1, 6}) {
                OpCheck op;
                ggml_tensor * a = op.input(type, {k, 5, 1, 1});
                ggml_tensor * b = op.input(GGML_TYPE_F32, {k, m, 1, 1});
                // All codes (and the small scales among them) but not the half-precision scales.
                auto * bytes = static_cast<uint8_t *>(a->data);
                const size_t size = ggml_type_size(type);
                const BlockFields f = fields(type);
                for (size_t at = 0; at < ggml_nbytes(a); at += size) {
                    std::memset(bytes + at + f.codes, fill, f.n_codes);
                }
                for (int64_t i = 0; i < k * m; ++i) {
                    static_cast<float *>(b->data)[i] = (i / k) % 2 == 0 ? 1.0f : -1.0f;
                }
                // Sums of up to 512 terms of magnitude up to the type's largest value.
                op.check(ggml_mul_mat(op.ctx(), a, b), {1e-4, 2e-6});
            }
        }
    }
}

TEST(mul_mat_quant, stays_within_the_activations_rounding_of_the_exact_product) {
    for (ggml_type type : kTypes) {
        const int64_t k = 1024, n = 21;
        for (int64_t m : {1, 7}) {
            OpCheck op;
            ggml_tensor * a = op.input(type, {k, n, 1, 1});
            ggml_tensor * b = op.input(GGML_TYPE_F32, {k, m, 1, 1});
            const std::vector<double> w = read_elements(a), x = read_elements(b);
            const std::vector<double> y = op.compute(ggml_mul_mat(op.ctx(), a, b), false, 2);
            for (int64_t i = 0; i < m * n; ++i) {
                double exact = 0, bound = 0;
                for (int64_t j = 0; j < k; ++j) {
                    const double weight = w[size_t(i % n * k + j)];
                    exact += weight * x[size_t(i / n * k + j)];
                    // Each activation is off by at most half a step of its block: 1/254 of at most 1.
                    bound += std::fabs(weight) / 254;
                }
                EXPECT_NEAR(y[size_t(i)], exact, bound + 1e-4) << ggml_type_name(type) << " element " << i;
            }
        }
    }
}

TEST(mul_mat_quant, keeps_zero_rows_zero_and_tiny_rows_finite) {
    for (ggml_type type : kTypes) {
        const int64_t k = ggml_blck_size(type);
        for (int64_t m : {2, 5}) {
            OpCheck op;
            ggml_tensor * a = op.input(type, {k, 9, 1, 1});
            ggml_tensor * b = op.input(GGML_TYPE_F32, {k, m, 1, 1});
            for (int64_t i = 0; i < k; ++i) {
                set_element(b, i, 0, 0, 0, 0.0);
                set_element(b, i, 1, 0, 0, i % 2 == 0 ? 1e-31 : -1e-40);
            }
            ggml_tensor * y = ggml_mul_mat(op.ctx(), a, b);
            op.check(y, for_length(k));
            const std::vector<double> values = op.compute(y, false, 1);
            for (size_t i = 0; i < 18; ++i) EXPECT_EQ(values[i], 0.0) << ggml_type_name(type);
        }
    }
}

TEST(mul_mat_quant, keeps_large_activations_finite) {
    // Their scale does not fit in half precision.
    for (ggml_type type : kTypes) {
        const int64_t k = ggml_blck_size(type);
        for (int64_t m : {1, 4}) {
            OpCheck op;
            ggml_tensor * a = op.input(type, {k, 9, 1, 1});
            ggml_tensor * b = op.input(GGML_TYPE_F32, {k, m, 1, 1}, Layout::contiguous, -1e9f, 1e9f);
            set_element(b, 3, 0, 0, 0, 1e12);
            op.check(ggml_mul_mat(op.ctx(), a, b), {1e12 * 1e-4});
        }
    }
}

TEST(mul_mat_quant, makes_a_row_nan_when_an_activation_is_not_finite) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    for (ggml_type type : kTypes) {
        const int64_t k = 2 * ggml_blck_size(type);
        for (float bad : {NAN, -NAN, kInf, -kInf}) {
            for (int64_t m : {3, 8}) {
                OpCheck op;
                ggml_tensor * a = op.input(type, {k, 18, 1, 1});
                ggml_tensor * b = op.input(GGML_TYPE_F32, {k, m, 1, 1});
                set_element(b, k - 5, 1, 0, 0, bad);
                ggml_tensor * y = ggml_mul_mat(op.ctx(), a, b);
                RunOptions options;
                options.threads = {2};
                op.check(y, for_length(k), options);
                const std::vector<double> values = op.compute(y, false, 2);
                for (int64_t i = 0; i < m * 18; ++i)
                    EXPECT_EQ(std::isnan(values[size_t(i)]), i / 18 == 1) << i;
            }
        }
    }
}

TEST(mul_mat_quant, carries_a_nan_scale_of_the_weights_to_its_column_only) {
    for (ggml_type type : kTypes) {
        const int64_t k = ggml_blck_size(type);
        for (int64_t m : {1, 6}) {
            OpCheck op;
            ggml_tensor * a = op.input(type, {k, 20, 1, 1});
            ggml_tensor * b = op.input(GGML_TYPE_F32, {k, m, 1, 1});
            const uint16_t nan = 0x7e01;
            std::memcpy(static_cast<char *>(a->data) + 13 * a->nb[1] + fields(type).scale, &nan, sizeof nan);
            ggml_tensor * y = ggml_mul_mat(op.ctx(), a, b);
            op.check(y, for_length(k));
            const std::vector<double> values = op.compute(y, false, 2);
            for (int64_t i = 0; i < m * 20; ++i) EXPECT_EQ(std::isnan(values[size_t(i)]), i % 20 == 13) << i;
        }
    }
}

} // namespace
} // namespace ggml::test
