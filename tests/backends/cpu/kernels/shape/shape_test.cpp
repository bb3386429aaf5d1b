// CONCAT, REPEAT, PAD, PAD_REFLECT_1D, ROLL.
#include "backends/cpu/kernel.h"
#include "runtime/ops/params.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

const RunOptions kThreads = {{1, 2, 3, 4, 5, 6, 7, 8}, false, true};
const RunOptions kFewThreads = {{1, 3}, false, true};
constexpr ggml_type kPlain[] = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_I8, GGML_TYPE_I32, GGML_TYPE_F64};
constexpr Layout kLayouts[] = {Layout::contiguous, Layout::padded_rows, Layout::transposed01,
                               Layout::permuted12, Layout::permuted23};

using Values = std::vector<double>;

void expect_values(OpCheck & c, ggml_tensor * result, const Values & expected) {
    EXPECT_EQ(c.compute(result, true), expected);
    EXPECT_EQ(c.compute(result, false, 2), expected);
}

TEST(concat, joins_along_every_dimension_in_any_layout) {
    for (int dim = 0; dim < GGML_MAX_DIMS; ++dim) {
        for (const ggml_type type : kPlain) {
            for (const Layout layout : kLayouts) {
                OpCheck c;
                Shape ne = {37, 5, 3, 2}, other = ne;
                other[size_t(dim)] = 7;
                ggml_tensor * a = c.input(type, ne, layout, -100, 100);
                ggml_tensor * b = c.input(type, other, Layout::transposed01, -100, 100);
                c.check(ggml_concat(c.ctx(), a, b, dim), kExact, kFewThreads);
            }
        }
    }
}

TEST(concat, joins_quantized_rows_and_blocks) {
    for (int dim = 0; dim < GGML_MAX_DIMS; ++dim) {
        OpCheck c;
        Shape other = {64, 3, 2, 2};
        other[size_t(dim)] *= 2;
        ggml_tensor * a = c.input(GGML_TYPE_Q5_0, {64, 3, 2, 2});
        ggml_tensor * b = c.input(GGML_TYPE_Q5_0, other);
        c.check(ggml_concat(c.ctx(), a, b, dim), kExact, kThreads);
    }
}

TEST(concat, has_the_order_of_the_specification) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4}, {2, 2, 1, 1});
    ggml_tensor * b = c.values({5, 6, 7, 8}, {2, 2, 1, 1});
    expect_values(c, ggml_concat(c.ctx(), a, b, 0), {1, 2, 5, 6, 3, 4, 7, 8});
    expect_values(c, ggml_concat(c.ctx(), a, b, 1), {1, 2, 3, 4, 5, 6, 7, 8});
    ggml_tensor * none = c.values({}, {2, 0, 1, 1});
    expect_values(c, ggml_concat(c.ctx(), a, none, 1), {1, 2, 3, 4});
    expect_values(c, ggml_concat(c.ctx(), none, a, 1), {1, 2, 3, 4});
}

TEST(repeat, tiles_every_dimension_of_any_layout) {
    for (const ggml_type type : kPlain) {
        for (const Layout layout : kLayouts) {
            OpCheck c;
            ggml_tensor * a = c.input(type, {13, 5, 3, 2}, layout, -100, 100);
            c.check(ggml_repeat_4d(c.ctx(), a, 39, 10, 9, 4), kExact, kFewThreads);
            c.check(ggml_repeat_4d(c.ctx(), a, 13, 5, 3, 8), kExact, kFewThreads);
        }
    }
}

TEST(repeat, broadcasts_scalars_rows_and_columns) {
    OpCheck c;
    c.check(ggml_repeat_4d(c.ctx(), c.input(GGML_TYPE_F32, {1, 1, 1, 1}), 501, 67, 3, 1), kExact, kThreads);
    c.check(ggml_repeat_4d(c.ctx(), c.input(GGML_TYPE_F32, {501, 1, 1, 1}), 501, 67, 3, 1), kExact, kThreads);
    c.check(ggml_repeat_4d(c.ctx(), c.input(GGML_TYPE_F32, {1, 67, 1, 1}), 501, 67, 3, 1), kExact, kThreads);
    c.check(ggml_repeat_4d(c.ctx(), c.input(GGML_TYPE_F32, {1, 3, 1, 1}), 1, 70002, 1, 1), kExact, kThreads);
    c.check(ggml_repeat_4d(c.ctx(), c.input(GGML_TYPE_Q8_0, {64, 3, 1, 1}), 128, 9, 2, 1), kExact, kThreads);
}

TEST(repeat, has_the_order_of_the_specification) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4}, {2, 2, 1, 1});
    expect_values(c, ggml_repeat_4d(c.ctx(), a, 4, 2, 1, 1), {1, 2, 1, 2, 3, 4, 3, 4});
    expect_values(c, ggml_repeat_4d(c.ctx(), a, 2, 4, 1, 1), {1, 2, 3, 4, 1, 2, 3, 4});
}

TEST(pad, adds_zeros_or_wraps_around_any_layout) {
    for (const ggml_type type : kPlain) {
        for (const Layout layout : kLayouts) {
            OpCheck c;
            ggml_tensor * a = c.input(type, {67, 7, 5, 3}, layout, -100, 100);
            c.check(ggml_pad_ext(c.ctx(), a, 3, 5, 1, 2, 0, 4, 2, 0), kExact, kFewThreads);
            c.check(ggml_pad_ext_circular(c.ctx(), a, 3, 5, 1, 2, 0, 4, 2, 0), kExact, kFewThreads);
            // More than once around.
            c.check(ggml_pad_ext_circular(c.ctx(), a, 150, 80, 20, 9, 0, 0, 7, 7), kExact, kFewThreads);
        }
    }
}

TEST(pad, has_the_values_of_the_specification) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4}, {2, 2, 1, 1});
    expect_values(c, ggml_pad_ext(c.ctx(), a, 1, 0, 0, 1, 0, 0, 0, 0), {0, 1, 2, 0, 3, 4, 0, 0, 0});
    expect_values(c, ggml_pad_ext_circular(c.ctx(), a, 1, 0, 0, 1, 0, 0, 0, 0), {2, 1, 2, 4, 3, 4, 2, 1, 2});
    ggml_tensor * none = c.values({}, {2, 0, 1, 1});
    expect_values(c, ggml_pad_ext(c.ctx(), none, 0, 1, 1, 0, 0, 0, 0, 0), {0, 0, 0});
}

TEST(pad, negative_counts_cut) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2, 1, 1});
    ggml_tensor * node = ggml_pad_ext(c.ctx(), a, 0, 0, 0, 1, 0, 0, 0, 0);
    PadParams p{};
    p.lp0 = -1;
    p.rp0 = 1;
    p.rp1 = 1;
    set_params(node, p);
    expect_values(c, node, {2, 3, 4, 0, 6, 7, 8, 0, 0, 0, 0, 0});
}

TEST(pad, refuses_parameters_that_do_not_give_its_shape) {
    OpCheck c;
    ggml_tensor * node = ggml_pad(c.ctx(), c.input(GGML_TYPE_F32, {4, 2, 1, 1}), 1, 1, 0, 0);
    auto p = get_params<PadParams>(node);
    p.rp0 = 2;
    set_params(node, p);
    EXPECT_FALSE(cpu::find_kernels(GGML_OP_PAD)->supports(node));
}

TEST(pad_reflect_1d, mirrors_without_the_edge) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4, 5, 6}, {3, 2, 1, 1});
    expect_values(c, ggml_pad_reflect_1d(c.ctx(), a, 2, 1), {3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5});
    c.check(ggml_pad_reflect_1d(c.ctx(), c.input(GGML_TYPE_F32, {101, 67, 5, 2}), 100, 37), kExact, kThreads);
    c.check(ggml_pad_reflect_1d(c.ctx(), c.input(GGML_TYPE_F32, {1, 67, 1, 1}), 0, 0), kExact, kThreads);
}

TEST(roll, shifts_every_dimension_of_any_layout) {
    for (const Layout layout :
         {Layout::contiguous, Layout::padded_rows, Layout::permuted12, Layout::permuted23}) {
        for (const ggml_type type : kPlain) {
            OpCheck c;
            ggml_tensor * a = c.input(type, {67, 11, 5, 3}, layout, -100, 100);
            c.check(ggml_roll(c.ctx(), a, 13, -4, 2, -1), kExact, kFewThreads);
            c.check(ggml_roll(c.ctx(), a, -66, 0, 0, 2), kExact, kFewThreads);
        }
    }
}

TEST(roll, moves_elements_to_higher_indexes) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4, 5, 6}, {3, 2, 1, 1});
    expect_values(c, ggml_roll(c.ctx(), a, 1, 0, 0, 0), {3, 1, 2, 6, 4, 5});
    expect_values(c, ggml_roll(c.ctx(), a, -1, 1, 0, 0), {5, 6, 4, 2, 3, 1});
}

TEST(shape, moves_nan_and_infinity_unchanged) {
    OpCheck c;
    ggml_tensor * a = c.values({NAN, INFINITY, -INFINITY, -0.0f}, {4, 1, 1, 1});
    const std::vector<double> out = c.compute(ggml_roll(c.ctx(), a, 1, 0, 0, 0), false);
    EXPECT_TRUE(std::signbit(out[0]) && out[0] == 0);
    EXPECT_TRUE(std::isnan(out[1]));
    EXPECT_EQ(out[2], double(INFINITY));
}

} // namespace
} // namespace ggml::test
