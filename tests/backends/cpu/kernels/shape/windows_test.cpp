// WIN_PART, WIN_UNPART, GET_REL_POS, ADD_REL_POS.
#include "backends/cpu/kernel.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

const RunOptions kThreads = {{1, 2, 3, 4, 5, 6, 7, 8}, false, true};

TEST(win_part, splits_and_joins_again) {
    for (const Layout layout :
         {Layout::contiguous, Layout::padded_rows, Layout::transposed01, Layout::permuted12}) {
        OpCheck c;
        ggml_tensor * a = c.input(GGML_TYPE_F32, {48, 25, 17, 1}, layout);
        ggml_tensor * parts = ggml_win_part(c.ctx(), a, 7);
        c.check(parts, kExact, kThreads);
        ggml_tensor * whole = ggml_win_unpart(c.ctx(), parts, 25, 17, 7);
        c.check(whole, kExact, kThreads);
        EXPECT_EQ(c.compute(whole, false, 3), read_elements(a));
    }
}

TEST(win_part, pads_the_last_windows_with_zeros) {
    OpCheck c;
    // Three columns, two rows, windows of two.
    ggml_tensor * parts = ggml_win_part(c.ctx(), c.values({1, 2, 3, 4, 5, 6}, {1, 3, 2, 1}), 2);
    const std::vector<double> expected = {1, 2, 4, 5, 3, 0, 6, 0};
    EXPECT_EQ(c.compute(parts, true), expected);
    EXPECT_EQ(c.compute(parts, false, 2), expected);
}

TEST(get_rel_pos, row_is_the_distance_of_query_and_key) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F16, {2, 5, 1, 1});
    for (int i = 0; i < 5; ++i) {
        set_element(a, 0, i, 0, 0, i);
        set_element(a, 1, i, 0, 0, 10 * i);
    }
    ggml_tensor * result = ggml_get_rel_pos(c.ctx(), a, 3, 3);
    const std::vector<double> expected = {2, 20, 1, 10, 0, 0, 3, 30, 2, 20, 1, 10, 4, 40, 3, 30, 2, 20};
    EXPECT_EQ(c.compute(result, true), expected);
    EXPECT_EQ(c.compute(result, false), expected);
}

TEST(get_rel_pos, converts_and_takes_any_layout) {
    for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_F32}) {
        for (const Layout layout : {Layout::contiguous, Layout::transposed01}) {
            OpCheck c;
            c.check(ggml_get_rel_pos(c.ctx(), c.input(type, {67, 45, 1, 1}, layout), 23, 23), kExact,
                    kThreads);
        }
    }
}

TEST(add_rel_pos, adds_column_and_row_terms) {
    OpCheck c;
    // One query, a 2 x 2 key map: pw belongs to columns, ph to rows.
    ggml_tensor * a = c.values({100, 200, 300, 400}, {4, 1, 1, 1});
    ggml_tensor * pw = c.values({1, 2}, {2, 1, 1, 1});
    ggml_tensor * ph = c.values({10, 20}, {2, 1, 1, 1});
    const std::vector<double> expected = {111, 212, 321, 422};
    EXPECT_EQ(c.compute(ggml_add_rel_pos(c.ctx(), a, pw, ph), true), expected);
    EXPECT_EQ(c.compute(ggml_add_rel_pos(c.ctx(), a, pw, ph), false), expected);
    EXPECT_EQ(c.compute(ggml_add_rel_pos_inplace(c.ctx(), a, pw, ph), false), expected);
}

TEST(add_rel_pos, equals_the_reference_in_place_and_not) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F32, {49, 42, 5, 1});
    set_element(a, 3, 3, 3, 0, NAN);
    set_element(a, 5, 5, 0, 0, INFINITY);
    ggml_tensor * pw = c.input(GGML_TYPE_F32, {7, 6, 7, 5});
    ggml_tensor * ph = c.input(GGML_TYPE_F32, {7, 6, 7, 5});
    c.check(ggml_add_rel_pos(c.ctx(), a, pw, ph), kExact, kThreads);
    c.check(ggml_add_rel_pos_inplace(c.ctx(), a, pw, ph), kExact, kThreads);
}

} // namespace
} // namespace ggml::test
