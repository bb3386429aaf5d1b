// ARANGE, TIMESTEP_EMBEDDING, FILL, TRI, DIAG.
#include "backends/cpu/kernel.h"
#include "runtime/ops/params.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

const RunOptions kThreads = {{1, 2, 3, 4, 5, 6, 7, 8}, false, true};
using Values = std::vector<double>;

void expect_values(OpCheck & c, ggml_tensor * result, const Values & expected) {
    EXPECT_EQ(c.compute(result, true), expected);
    EXPECT_EQ(c.compute(result, false, 2), expected);
}

TEST(arange, steps_from_start_and_stops_before_the_end) {
    OpCheck c;
    expect_values(c, ggml_arange(c.ctx(), 1, 4, 1), {1, 2, 3});
    expect_values(c, ggml_arange(c.ctx(), -0.5f, 1, 0.5f), {-0.5, 0, 0.5});
    c.check(ggml_arange(c.ctx(), 0.1f, 7000, 0.1f), kExact, kThreads);
}

TEST(timestep_embedding, is_cosines_then_sines) {
    OpCheck c;
    ggml_tensor * result = ggml_timestep_embedding(c.ctx(), c.values({0, 2}, {2, 1, 1, 1}), 5, 10000);
    const Values out = c.compute(result, true);
    // Frequencies 1 and 1/100; the odd last element is zero.
    const Values expected = {1, 1, 0, 0, 0, std::cos(2.0), std::cos(0.02), std::sin(2.0), std::sin(0.02), 0};
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(out[i], expected[i], 1e-6) << i;
    c.check(result, kExact, kThreads);
}

TEST(timestep_embedding, takes_strided_steps_and_many_of_them) {
    OpCheck c;
    ggml_tensor * all = c.input(GGML_TYPE_F32, {3, 701, 1, 1}, Layout::contiguous, 0, 1000);
    ggml_tensor * column =
        ggml_permute(c.ctx(), ggml_view_2d(c.ctx(), all, 1, 701, all->nb[1], 4), 1, 0, 2, 3);
    c.check(ggml_timestep_embedding(c.ctx(), column, 256, 10000), kExact, kThreads);
    c.check(ggml_timestep_embedding(c.ctx(), column, 1, 10000), kExact, kThreads);
}

TEST(fill, writes_the_value_in_the_type) {
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        OpCheck c;
        ggml_tensor * a = c.input(type, {129, 67, 5, 1});
        c.check(ggml_fill(c.ctx(), a, 0.3f), kExact, kThreads);
        const Values out = c.compute(ggml_fill_inplace(c.ctx(), a, -2.5f), false, 3);
        EXPECT_EQ(out, Values(out.size(), -2.5));
        EXPECT_TRUE(std::isnan(c.compute(ggml_fill(c.ctx(), a, NAN), false)[77]));
    }
}

TEST(fill, respects_strides) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F32, {8, 8, 1, 1});
    ggml_tensor * node = ggml_fill_inplace(c.ctx(), a, 9);
    // Every second row and column of a.
    node->ne[0] = node->ne[1] = 4;
    node->nb[0] *= 2;
    node->nb[1] *= 2;
    c.compute(node, false, 2);
    const Values all = read_elements(a);
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i] == 9, i % 2 == 0 && i / 8 % 2 == 0) << i;
}

TEST(tri, keeps_the_triangle) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3, 1, 1});
    expect_values(c, ggml_tri(c.ctx(), a, GGML_TRI_TYPE_LOWER), {0, 0, 0, 4, 0, 0, 7, 8, 0});
    expect_values(c, ggml_tri(c.ctx(), a, GGML_TRI_TYPE_LOWER_DIAG), {1, 0, 0, 4, 5, 0, 7, 8, 9});
    expect_values(c, ggml_tri(c.ctx(), a, GGML_TRI_TYPE_UPPER), {0, 2, 3, 0, 0, 6, 0, 0, 0});
    expect_values(c, ggml_tri(c.ctx(), a, GGML_TRI_TYPE_UPPER_DIAG), {1, 2, 3, 0, 5, 6, 0, 0, 9});
}

TEST(tri, clears_nan_outside_and_equals_the_reference) {
    for (int type = GGML_TRI_TYPE_UPPER_DIAG; type <= GGML_TRI_TYPE_LOWER; ++type) {
        OpCheck c;
        ggml_tensor * a = c.input(GGML_TYPE_F32, {67, 67, 3, 2});
        set_element(a, 0, 66, 0, 0, NAN);
        set_element(a, 66, 0, 1, 0, INFINITY);
        c.check(ggml_tri(c.ctx(), a, ggml_tri_type(type)), kExact, kThreads);
    }
}

TEST(diag, puts_a_row_on_the_diagonal) {
    OpCheck c;
    expect_values(c, ggml_diag(c.ctx(), c.values({1, 2, 3}, {3, 1, 1, 1})), {1, 0, 0, 0, 2, 0, 0, 0, 3});
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_I32}) {
        for (const Layout layout : {Layout::contiguous, Layout::padded_rows, Layout::permuted23}) {
            c.check(ggml_diag(c.ctx(), c.input(type, {53, 1, 4, 3}, layout, -9, 9)), kExact, kThreads);
        }
    }
}

} // namespace
} // namespace ggml::test
