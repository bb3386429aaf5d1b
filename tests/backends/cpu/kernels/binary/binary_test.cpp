#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

// ggml_add1 is deprecated but part of the API.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace ggml::test {
namespace {

using Build = ggml_tensor * (*)(ggml_context *, ggml_tensor *, ggml_tensor *);
constexpr Build kBuilders[] = {ggml_add, ggml_sub, ggml_mul, ggml_div};

// One operation and one rounding: every kernel must give the reference's bits.
void expect_exact(ggml_type a_type, ggml_type b_type, Shape a_ne, Shape b_ne,
                  Layout a_layout = Layout::contiguous, Layout b_layout = Layout::contiguous,
                  const RunOptions & options = {}) {
    for (Build build : kBuilders) {
        OpCheck check;
        ggml_tensor * a = check.input(a_type, a_ne, a_layout, -3, 3);
        ggml_tensor * b = check.input(b_type, b_ne, b_layout, 0.25f, 3);
        EXPECT_TRUE(check.check(build(check.ctx(), a, b), kExact, options))
            << ggml_type_name(a_type) << " " << layout_name(a_layout) << ", " << ggml_type_name(b_type) << " "
            << layout_name(b_layout);
    }
}

TEST(binary, equal_shapes_match_the_reference_bit_for_bit) {
    expect_exact(GGML_TYPE_F32, GGML_TYPE_F32, {1009, 7, 3, 5}, {1009, 7, 3, 5}, Layout::contiguous,
                 Layout::contiguous, {{1, 2, 3, 4, 5, 6, 7, 8}});
}

TEST(binary, src1_repeats_in_every_dimension) {
    const Shape a = {42, 6, 4, 2};
    const Shape shapes[] = {{1, 1, 1, 1}, {42, 1, 1, 1}, {1, 6, 1, 1},  {1, 1, 4, 1},
                            {1, 1, 1, 2}, {7, 1, 1, 1},  {42, 3, 1, 1}, {21, 2, 2, 1},
                            {1, 6, 4, 2}, {42, 6, 1, 2}, {3, 3, 2, 2}};
    for (const Shape & b : shapes) expect_exact(GGML_TYPE_F32, GGML_TYPE_F32, a, b);
}

TEST(binary, repeated_rows_longer_than_a_block_wrap_correctly) {
    expect_exact(GGML_TYPE_F32, GGML_TYPE_F32, {3 * 1500, 3, 1, 1}, {1500, 1, 1, 1});
    expect_exact(GGML_TYPE_F16, GGML_TYPE_F16, {5 * 700, 2, 1, 1}, {700, 1, 1, 1});
}

TEST(binary, mixed_float_types_round_once_to_the_type_of_src0) {
    for (ggml_type a : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16}) {
        for (ggml_type b : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16}) {
            expect_exact(a, b, {67, 5, 2, 1}, {67, 1, 2, 1}, Layout::contiguous, Layout::contiguous,
                         {{1, 3}});
        }
    }
}

TEST(binary, strided_and_permuted_operands_match) {
    const Layout layouts[] = {Layout::padded_rows, Layout::transposed01, Layout::permuted12,
                              Layout::permuted23};
    for (Layout layout : layouts) {
        expect_exact(GGML_TYPE_F32, GGML_TYPE_F32, {37, 5, 3, 2}, {37, 5, 3, 2}, layout, Layout::contiguous,
                     {{1, 2}});
        expect_exact(GGML_TYPE_F32, GGML_TYPE_F32, {37, 5, 3, 2}, {37, 5, 1, 2}, Layout::contiguous, layout,
                     {{1, 2}});
        expect_exact(GGML_TYPE_F16, GGML_TYPE_F32, {36, 5, 3, 2}, {12, 5, 1, 1}, layout, layout, {{1, 2}});
    }
}

TEST(binary, single_elements_and_many_short_rows_work) {
    expect_exact(GGML_TYPE_F32, GGML_TYPE_F32, {1, 1, 1, 1}, {1, 1, 1, 1});
    OpCheck check;
    ggml_tensor * a = check.input(GGML_TYPE_F32, {2, 70001, 1, 1}, Layout::padded_rows);
    check.check(ggml_mul(check.ctx(), a, check.input(GGML_TYPE_F32, {1, 70001, 1, 1})), kExact, {{1, 2, 8}});
}

TEST(binary, in_place_results_are_correct_when_dst_is_src0) {
    OpCheck check;
    ggml_tensor * a = check.input(GGML_TYPE_F32, {1031, 9, 1, 1});
    check.check(ggml_add_inplace(check.ctx(), a, check.input(GGML_TYPE_F32, {1031, 1, 1, 1})), kExact);
    ggml_tensor * h = check.input(GGML_TYPE_F16, {1031, 9, 1, 1});
    check.check(ggml_mul_inplace(check.ctx(), h, check.input(GGML_TYPE_F32, {1, 9, 1, 1})), kExact);
    ggml_tensor * both = check.input(GGML_TYPE_F32, {1031, 9, 1, 1});
    check.check(ggml_sub_inplace(check.ctx(), both, both), kExact);
}

TEST(binary, a_result_may_take_the_memory_of_src1) {
    OpCheck check;
    ggml_tensor * a = check.input(GGML_TYPE_F32, {1031, 9, 1, 1});
    ggml_tensor * b = check.input(GGML_TYPE_F32, {1031, 9, 1, 1}, Layout::contiguous, 1, 2);
    ggml_tensor * y = ggml_div(check.ctx(), a, b);
    // What the graph allocator does when b has no later reader.
    y->data = b->data;
    y->view_src = b;
    check.check(y, kExact);
}

TEST(binary, nan_and_infinities_follow_ieee_arithmetic) {
    OpCheck check;
    ggml_context * ctx = check.ctx();
    const auto values = [&](std::vector<float> v) { return check.values(v, {int64_t(v.size()), 1, 1, 1}); };
    ggml_tensor * a = values({NAN, HUGE_VALF, HUGE_VALF, 0, -1, 3e38f, 1});
    ggml_tensor * b = values({1, -HUGE_VALF, 0, 0, 0, 3e38f, NAN});
    const double inf = HUGE_VAL, nan = NAN;
    expect_close(check.compute(ggml_add(ctx, a, b), false), {nan, nan, inf, 0, -1, inf, nan}, kExact, "add");
    expect_close(check.compute(ggml_sub(ctx, a, b), false), {nan, inf, inf, 0, -1, 0, nan}, kExact, "sub");
    expect_close(check.compute(ggml_mul(ctx, a, b), false), {nan, -inf, nan, 0, -0.0, inf, nan}, kExact,
                 "mul");
    expect_close(check.compute(ggml_div(ctx, a, b), false), {nan, nan, inf, nan, -inf, 1, nan}, kExact,
                 "div");
}

TEST(binary, hand_computed_broadcast_values_check_the_reference_itself) {
    OpCheck check;
    ggml_tensor * a = check.values({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2, 1, 1});
    ggml_tensor * b = check.values({10, 20}, {2, 1, 1, 1});
    expect_close(check.compute(ggml_add(check.ctx(), a, b), true), {11, 22, 13, 24, 15, 26, 17, 28}, kExact,
                 "add");
    ggml_tensor * column = check.values({2, 4}, {1, 2, 1, 1});
    expect_close(check.compute(ggml_div(check.ctx(), a, column), true), {0.5, 1, 1.5, 2, 1.25, 1.5, 1.75, 2},
                 kExact, "div");
    ggml_tensor * one = check.values({100}, {1, 1, 1, 1});
    expect_close(check.compute(ggml_add1(check.ctx(), a, one), true),
                 {101, 102, 103, 104, 105, 106, 107, 108}, kExact, "add1");
}

TEST(add1, adds_a_scalar_of_any_float_type) {
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16}) {
        OpCheck check;
        ggml_tensor * a = check.input(type, {131, 5, 2, 1});
        check.check(ggml_add1(check.ctx(), a, check.input(GGML_TYPE_F32, {1, 1, 1, 1})), kExact, {{1, 2}});
        check.check(ggml_add1_inplace(check.ctx(), a, check.input(type, {1, 1, 1, 1})), kExact, {{1, 2}});
    }
}

TEST(add, quantized_src0_is_dequantized_added_and_requantized) {
    for (ggml_type type : {GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q5_1, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K}) {
        SCOPED_TRACE(ggml_type_name(type));
        OpCheck check;
        ggml_tensor * a = check.input(type, {1280, 3, 2, 1});
        ggml_tensor * b = check.input(GGML_TYPE_F32, {1280, 3, 2, 1});
        ggml_tensor * y = ggml_add(check.ctx(), a, b);
        EXPECT_EQ(y->type, type);
        check.check(y, kExact, {{1, 3}});
        // Within one step of the exact sum: the coarsest types here have 16 levels over [-2, 2].
        std::vector<double> sum = read_elements(a);
        const std::vector<double> add = read_elements(b);
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += add[i];
        expect_close(check.compute(y, false), sum, {0.25, 0, 0}, "requantized");
    }
}

TEST(add, quantized_src0_with_a_float_result_is_exact) {
    OpCheck check;
    ggml_tensor * a = check.input(GGML_TYPE_Q8_0, {1088, 3, 1, 1});
    ggml_tensor * b = check.input(GGML_TYPE_F32, {1088, 3, 1, 1});
    ggml_tensor * y = ggml_add_cast(check.ctx(), a, b, GGML_TYPE_F32);
    check.check(y, kExact);
    std::vector<double> sum = read_elements(a);
    const std::vector<double> add = read_elements(b);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = float(sum[i]) + float(add[i]);
    expect_close(check.compute(y, false), sum, kExact, "dequantized sum");
}

} // namespace
} // namespace ggml::test
