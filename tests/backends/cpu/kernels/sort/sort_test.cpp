// ARGSORT and TOP_K.
#include "backends/cpu/kernel.h"
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

TEST(argsort, equal_values_keep_their_order_both_ways) {
    OpCheck c;
    ggml_tensor * a = c.values({3, 1, 3, 2, 1, -INFINITY}, {6, 1, 1, 1});
    expect_values(c, ggml_argsort(c.ctx(), a, GGML_SORT_ORDER_ASC), {5, 1, 4, 3, 0, 2});
    expect_values(c, ggml_argsort(c.ctx(), a, GGML_SORT_ORDER_DESC), {0, 2, 3, 1, 4, 5});
}

TEST(argsort, nan_comes_last_and_zeros_are_equal) {
    OpCheck c;
    ggml_tensor * a = c.values({NAN, 0.0f, -0.0f, INFINITY, -NAN, -INFINITY, 0.0f}, {7, 1, 1, 1});
    expect_values(c, ggml_argsort(c.ctx(), a, GGML_SORT_ORDER_ASC), {5, 1, 2, 6, 3, 0, 4});
    expect_values(c, ggml_argsort(c.ctx(), a, GGML_SORT_ORDER_DESC), {3, 1, 2, 6, 5, 0, 4});
}

TEST(argsort, equals_the_reference_for_rows_of_any_length_and_layout) {
    for (const ggml_sort_order order : {GGML_SORT_ORDER_ASC, GGML_SORT_ORDER_DESC}) {
        for (const int64_t n : {1, 2, 17, 1009}) {
            for (const Layout layout : {Layout::contiguous, Layout::padded_rows, Layout::transposed01}) {
                OpCheck c;
                ggml_tensor * a = c.input(GGML_TYPE_F32, {n, 13, 3, 2}, layout);
                for (int64_t i = 0; i < n; i += 5) set_element(a, i, 3, 1, 0, NAN);
                for (int64_t i = 0; i < n; i += 3) set_element(a, i, 4, 1, 1, 0.25);
                c.check(ggml_argsort(c.ctx(), a, order), kExact, kThreads);
            }
        }
    }
    OpCheck c;
    c.check(ggml_argsort(c.ctx(), c.input(GGML_TYPE_F32, {3, 66000, 1, 1}), GGML_SORT_ORDER_ASC), kExact,
            kThreads);
}

TEST(top_k, gives_the_largest_in_descending_order) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 5, NAN, 5, 9, -2}, {6, 1, 1, 1});
    expect_values(c, ggml_top_k(c.ctx(), a, 3), {4, 1, 3});
    expect_values(c, ggml_top_k(c.ctx(), a, 6), {4, 1, 3, 0, 5, 2});
}

TEST(top_k, equals_the_reference) {
    for (const int k : {1, 2, 40, 500, 1009}) {
        OpCheck c;
        ggml_tensor * a = c.input(GGML_TYPE_F32, {1009, 7, 2, 1}, Layout::padded_rows);
        for (int64_t i = 0; i < 1009; i += 2) set_element(a, i, 5, 1, 0, NAN);
        c.check(ggml_top_k(c.ctx(), a, k), kExact, kThreads);
    }
}

TEST(argsort, no_rows_or_columns_are_fine) {
    OpCheck c;
    EXPECT_TRUE(
        c.compute(ggml_argsort(c.ctx(), c.values({}, {0, 4, 1, 1}), GGML_SORT_ORDER_ASC), false).empty());
    EXPECT_TRUE(c.compute(ggml_top_k(c.ctx(), c.values({}, {4, 0, 1, 1}), 2), false).empty());
}

} // namespace
} // namespace ggml::test
