// MUL_MAT with F32, F16 and BF16 weights against sums in double.
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ggml::test {
namespace {

constexpr ggml_type kTypes[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16};
constexpr double kInf = std::numeric_limits<double>::infinity();

// Sums of k products of values in [-1, 1]: partial sums reach about 2 sqrt(k), each of k roundings is off by
// up to 2^-24 of that, and their errors add up like a random walk.
Tolerance for_length(int64_t k) { return {1.2e-7 * double(8 + k)}; }

struct Case {
    int64_t m, k, n;
};

void check(ggml_type type, const Case & c, Layout a_layout = Layout::contiguous,
           Layout b_layout = Layout::contiguous, ggml_type b_type = GGML_TYPE_F32,
           Shape batch_a = {1, 1, 1, 1}, Shape batch_b = {1, 1, 1, 1}) {
    OpCheck op;
    ggml_tensor * a = op.input(type, {c.k, c.n, batch_a[2], batch_a[3]}, a_layout);
    ggml_tensor * b = op.input(b_type, {c.k, c.m, batch_b[2], batch_b[3]}, b_layout);
    SCOPED_TRACE(testing::Message() << ggml_type_name(type) << " x " << ggml_type_name(b_type) << " m " << c.m
                                    << " k " << c.k << " n " << c.n << " " << layout_name(a_layout) << " "
                                    << layout_name(b_layout));
    op.check(ggml_mul_mat(op.ctx(), a, b), for_length(c.k));
}

TEST(mul_mat_float, equals_the_sum_of_products_for_odd_sizes) {
    for (ggml_type type : kTypes) {
        for (const Case & c : {Case{1, 1, 1},
                               {1, 67, 131},
                               {2, 64, 17},
                               {3, 33, 65},
                               {4, 7, 5},
                               {5, 97, 64},
                               {17, 16, 33},
                               {31, 129, 66},
                               {64, 1, 3},
                               {7, 513, 130}}) {
            check(type, c);
        }
    }
}

TEST(mul_mat_float, takes_more_than_65535_rows_on_either_side) {
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        for (const Case & c : {Case{70001, 5, 3}, Case{2, 5, 70001}, Case{5, 3, 70001}}) {
            OpCheck op;
            op.check(ggml_mul_mat(op.ctx(), op.input(type, {c.k, c.n, 1, 1}),
                                  op.input(GGML_TYPE_F32, {c.k, c.m, 1, 1})),
                     for_length(c.k), {{1, 3}, false, true});
        }
    }
    OpCheck op;
    op.check(ggml_mul_mat(op.ctx(), op.input(GGML_TYPE_F16, {5, 3, 1, 1}),
                          op.input(GGML_TYPE_F32, {5, 2, 70001, 1})),
             for_length(5), {{1, 3}, false, true});
}

TEST(mul_mat_float, keeps_results_that_16_bits_cannot_hold) {
    for (ggml_type type : kTypes) {
        OpCheck op;
        ggml_tensor * a = op.input(type, {2, 1, 1, 1}, Layout::contiguous, 1, 1);
        // 70000 and its sum with itself are beyond the range of F16.
        for (int64_t m : {1, 5}) {
            ggml_tensor * b = op.values(std::vector<float>(size_t(2 * m), 70000.0f), {2, m, 1, 1});
            EXPECT_EQ(op.compute(ggml_mul_mat(op.ctx(), a, b), false),
                      std::vector<double>(size_t(m), 140000.0));
        }
    }
}

TEST(mul_mat_float, uses_the_whole_team_for_large_products_with_the_same_result) {
    // Above the size from which the library runs on the team, F16 in one panel and BF16 in several.
    check(GGML_TYPE_F32, {97, 521, 353});
    check(GGML_TYPE_F16, {97, 521, 353});
    RunOptions options;
    options.all_isa_levels = false;
    OpCheck op(64u << 20);
    ggml_tensor * a = op.input(GGML_TYPE_BF16, {16384, 257, 1, 1});
    ggml_tensor * b = op.input(GGML_TYPE_F32, {16384, 5, 1, 1});
    op.check(ggml_mul_mat(op.ctx(), a, b), for_length(16384), options);
}

TEST(mul_mat_float, takes_16_bit_activations) {
    for (ggml_type type : kTypes) {
        for (ggml_type b : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
            check(type, {1, 67, 20}, Layout::contiguous, Layout::contiguous, b);
            check(type, {6, 67, 20}, Layout::contiguous, Layout::contiguous, b);
        }
    }
}

TEST(mul_mat_float, follows_the_strides_of_both_operands) {
    for (ggml_type type : kTypes) {
        for (Layout a : {Layout::contiguous, Layout::padded_rows, Layout::permuted12, Layout::permuted23}) {
            for (Layout b :
                 {Layout::padded_rows, Layout::transposed01, Layout::permuted12, Layout::permuted23}) {
                check(type, {5, 35, 66}, a, b, GGML_TYPE_F32, {0, 0, 2, 3}, {0, 0, 2, 3});
                check(type, {1, 35, 9}, a, b, GGML_TYPE_F32, {0, 0, 2, 3}, {0, 0, 2, 3});
            }
        }
    }
}

TEST(mul_mat_float, repeats_weights_over_dimensions_2_and_3) {
    for (Layout b : {Layout::contiguous, Layout::permuted12, Layout::permuted23}) {
        for (int64_t m : {1, 2, 9}) {
            check(GGML_TYPE_F32, {m, 40, 21}, Layout::contiguous, b, GGML_TYPE_F32, {0, 0, 2, 1},
                  {0, 0, 6, 3});
            check(GGML_TYPE_F16, {m, 40, 21}, Layout::contiguous, b, GGML_TYPE_F32, {0, 0, 1, 1},
                  {0, 0, 3, 2});
            check(GGML_TYPE_BF16, {m, 40, 21}, Layout::contiguous, b, GGML_TYPE_F32, {0, 0, 1, 2},
                  {0, 0, 2, 4});
        }
    }
}

TEST(mul_mat_float, gives_identical_bytes_for_one_to_eight_threads) {
    RunOptions options;
    options.threads = {1, 2, 3, 4, 5, 6, 7, 8};
    options.all_isa_levels = false;
    for (ggml_type type : kTypes) {
        for (const Case & c : {Case{1, 300, 500}, {16, 600, 300}, {64, 1100, 300}, {5, 4096, 130}}) {
            OpCheck op(32u << 20);
            ggml_tensor * a = op.input(type, {c.k, c.n, 1, 1});
            ggml_tensor * b = op.input(GGML_TYPE_F32, {c.k, c.m, 1, 1});
            op.check(ggml_mul_mat(op.ctx(), a, b), for_length(c.k), options);
        }
    }
}

TEST(mul_mat_float, carries_nan_and_infinity_to_the_results_they_reach) {
    for (ggml_type type : kTypes) {
        for (int64_t m : {1, 3, 6}) {
            OpCheck op;
            ggml_tensor * a = op.input(type, {50, 20, 1, 1}, Layout::contiguous, 0.5f, 1.0f);
            ggml_tensor * b = op.input(GGML_TYPE_F32, {50, m, 1, 1}, Layout::contiguous, 0.5f, 1.0f);
            set_element(a, 3, 7, 0, 0, NAN);
            set_element(a, 49, 11, 0, 0, kInf);
            set_element(b, 10, m - 1, 0, 0, -kInf);
            op.check(ggml_mul_mat(op.ctx(), a, b), for_length(50));
        }
    }
}

TEST(mul_mat_float, sums_over_nothing_to_zero) {
    OpCheck op;
    ggml_tensor *wide_a = op.input(GGML_TYPE_F32, {2, 3, 1, 1}),
                *wide_b = op.input(GGML_TYPE_F32, {2, 4, 1, 1});
    ggml_tensor * a = ggml_view_2d(op.ctx(), wide_a, 0, 3, wide_a->nb[1], 0);
    ggml_tensor * b = ggml_view_2d(op.ctx(), wide_b, 0, 4, wide_b->nb[1], 0);
    const std::vector<double> zeros(12, 0.0);
    EXPECT_EQ(op.compute(ggml_mul_mat(op.ctx(), a, b), false, 2), zeros);
}

TEST(mul_mat_float, accepts_results_without_elements) {
    OpCheck op;
    ggml_tensor * a = op.input(GGML_TYPE_F16, {8, 3, 1, 1});
    ggml_tensor * b = ggml_new_tensor_2d(op.ctx(), GGML_TYPE_F32, 8, 0);
    EXPECT_EQ(op.compute_status(ggml_mul_mat(op.ctx(), a, b), false, 2), GGML_STATUS_SUCCESS);
}

} // namespace
} // namespace ggml::test
