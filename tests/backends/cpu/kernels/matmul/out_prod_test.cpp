// OUT_PROD: sums of outer products of rows.
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

namespace ggml::test {
namespace {

void check(ggml_type type, Shape a_shape, Shape b_shape, Layout a_layout = Layout::contiguous,
           Layout b_layout = Layout::contiguous) {
    OpCheck op;
    SCOPED_TRACE(testing::Message() << ggml_type_name(type) << " " << a_shape[0] << " x " << b_shape[0]
                                    << " over " << a_shape[1] << " " << layout_name(a_layout) << " "
                                    << layout_name(b_layout));
    ggml_tensor * a = op.input(type, a_shape, a_layout);
    ggml_tensor * b = op.input(GGML_TYPE_F32, b_shape, b_layout);
    op.check(ggml_out_prod(op.ctx(), a, b), {1.2e-7 * double(8 + a_shape[1])});
}

TEST(out_prod, sums_products_of_all_pairs_for_odd_sizes) {
    check(GGML_TYPE_F32, {1, 1, 1, 1}, {1, 1, 1, 1});
    check(GGML_TYPE_F32, {7, 13, 1, 1}, {5, 13, 1, 1});
    check(GGML_TYPE_F32, {257, 33, 1, 1}, {17, 33, 1, 1});
    check(GGML_TYPE_F32, {31, 600, 1, 1}, {9, 600, 1, 1});
}

TEST(out_prod, takes_16_bit_and_quantized_matrices) {
    check(GGML_TYPE_F16, {33, 10, 1, 1}, {6, 10, 1, 1});
    check(GGML_TYPE_BF16, {33, 10, 1, 1}, {6, 10, 1, 1});
    check(GGML_TYPE_Q4_0, {96, 10, 1, 1}, {6, 10, 1, 1});
    check(GGML_TYPE_Q8_0, {320, 10, 1, 1}, {6, 10, 1, 1});
    check(GGML_TYPE_Q4_K, {768, 10, 1, 1}, {6, 10, 1, 1});
    check(GGML_TYPE_Q6_K, {256, 300, 1, 1}, {3, 300, 1, 1});
}

TEST(out_prod, repeats_the_first_operand_over_dimensions_2_and_3) {
    check(GGML_TYPE_F32, {9, 11, 2, 1}, {4, 11, 6, 3});
    check(GGML_TYPE_Q8_0, {32, 11, 1, 2}, {4, 11, 2, 4});
}

TEST(out_prod, follows_the_strides_of_both_operands) {
    for (Layout a : {Layout::contiguous, Layout::padded_rows, Layout::permuted12}) {
        for (Layout b : {Layout::padded_rows, Layout::transposed01, Layout::permuted12, Layout::permuted23}) {
            check(GGML_TYPE_F32, {9, 11, 2, 3}, {4, 11, 2, 3}, a, b);
        }
    }
}

TEST(out_prod, sums_over_nothing_to_zero) {
    OpCheck op;
    ggml_tensor * a = ggml_new_tensor_2d(op.ctx(), GGML_TYPE_F32, 4, 0);
    ggml_tensor * b = ggml_new_tensor_2d(op.ctx(), GGML_TYPE_F32, 3, 0);
    EXPECT_EQ(op.compute(ggml_out_prod(op.ctx(), a, b), false, 2), std::vector<double>(12, 0.0));
}

} // namespace
} // namespace ggml::test
