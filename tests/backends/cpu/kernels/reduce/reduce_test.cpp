// SUM, SUM_ROWS, MEAN, CUMSUM, ARGMAX, COUNT_EQUAL.
#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/reduce/sum_row.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

const RunOptions kThreads = {{1, 2, 3, 4, 5, 6, 7, 8}, true, true};
const RunOptions kFewThreads = {{1, 3}, false, true};
// Sums differ in order only, in double; the result rounds once.
constexpr Tolerance kOneRounding = {1e-12, 0, 1};
// 16-bit results may round to the neighbour.
constexpr Tolerance kHalfRounding = {1e-12, 0x1p-7, 0};
constexpr Layout kLayouts[] = {Layout::contiguous, Layout::padded_rows, Layout::transposed01,
                               Layout::permuted12, Layout::permuted23};
using Values = std::vector<double>;

void expect_values(OpCheck & c, ggml_tensor * result, const Values & expected) {
    EXPECT_EQ(c.compute(result, true), expected);
    EXPECT_EQ(c.compute(result, false, 2), expected);
}

TEST(sum, equals_the_reference_in_any_layout) {
    for (const Layout layout : kLayouts) {
        OpCheck c;
        c.check(ggml_sum(c.ctx(), c.input(GGML_TYPE_F32, {127, 67, 11, 3}, layout)), kOneRounding, kThreads);
        for (const ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
            c.check(ggml_sum(c.ctx(), c.input(type, {127, 13, 5, 3}, layout)), kHalfRounding, kFewThreads);
        }
    }
}

TEST(sum, rounds_once) {
    OpCheck c;
    // In float the small numbers would vanish against 2^25.
    std::vector<float> values(4001, 1.0f);
    values[0] = 0x1p25f;
    values[4000] = -0x1p25f;
    expect_values(c, ggml_sum(c.ctx(), c.values(values, {4001, 1, 1, 1})), {3999});
    expect_values(c, ggml_sum(c.ctx(), c.values({}, {0, 3, 1, 1})), {0});
}

TEST(sum_floats, is_the_same_on_every_instruction_set) {
    std::vector<float> x(1000);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(float(i)) * std::exp2(float(i % 60) - 30);
    for (const int64_t n : {0, 1, 15, 16, 17, 31, 999}) {
        std::vector<double> sums;
        for_each_isa([&](cpu::Isa) { sums.push_back(cpu::sum_floats(x.data() + 1, n)); });
        for (const double s : sums) EXPECT_EQ(s, sums[0]) << n;
    }
}

TEST(sum_rows, and_mean_equal_the_reference_in_any_layout) {
    for (const Layout layout : kLayouts) {
        OpCheck c;
        ggml_tensor * a = c.input(GGML_TYPE_F32, {1031, 17, 5, 2}, layout);
        c.check(ggml_sum_rows(c.ctx(), a), kOneRounding, kThreads);
        c.check(ggml_mean(c.ctx(), a), kOneRounding, kThreads);
        ggml_tensor * half = c.input(GGML_TYPE_F16, {131, 17, 5, 2}, layout);
        c.check(ggml_sum_rows(c.ctx(), half), kHalfRounding, kFewThreads);
        c.check(ggml_mean(c.ctx(), half), kOneRounding, kFewThreads);
    }
    OpCheck c;
    c.check(ggml_sum_rows(c.ctx(), c.input(GGML_TYPE_F32, {3, 70001, 1, 1})), kOneRounding, kFewThreads);
}

TEST(sum_rows, has_the_values_of_the_specification) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4, 5, 7}, {3, 2, 1, 1});
    expect_values(c, ggml_sum_rows(c.ctx(), a), {6, 16});
    expect_values(c, ggml_mean(c.ctx(), c.values({1, 2, 3, 4}, {2, 2, 1, 1})), {1.5, 3.5});
    expect_values(c, ggml_sum_rows(c.ctx(), c.values({}, {0, 2, 1, 1})), {0, 0});
}

TEST(sum_rows, propagates_nan_and_infinity) {
    OpCheck c;
    ggml_tensor * a = c.values({1, NAN, INFINITY, 1, INFINITY, -INFINITY}, {2, 3, 1, 1});
    const Values out = c.compute(ggml_sum_rows(c.ctx(), a), false);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], double(INFINITY));
    EXPECT_TRUE(std::isnan(out[2]));
    EXPECT_TRUE(std::isnan(c.compute(ggml_sum(c.ctx(), a), false, 2)[0]));
}

TEST(cumsum, runs_along_rows) {
    OpCheck c;
    expect_values(c, ggml_cumsum(c.ctx(), c.values({1, 2, 3, 4, 5, 6}, {3, 2, 1, 1})), {1, 3, 6, 4, 9, 15});
    for (const Layout layout : kLayouts) {
        ggml_tensor * a = c.input(GGML_TYPE_F32, {257, 31, 3, 2}, layout);
        set_element(a, 100, 5, 0, 0, NAN);
        c.check(ggml_cumsum(c.ctx(), a), kExact, kFewThreads);
    }
}

TEST(argmax, takes_the_last_of_equals_and_skips_nan) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 3, 3, NAN, 2, 2, NAN, NAN, NAN, -INFINITY, NAN, -INFINITY}, {3, 4, 1, 1});
    expect_values(c, ggml_argmax(c.ctx(), a), {2, 2, 0, 2});
    ggml_tensor * b = c.values({NAN, -INFINITY, -INFINITY, NAN}, {4, 1, 1, 1});
    expect_values(c, ggml_argmax(c.ctx(), b), {2});
}

TEST(argmax, equals_the_reference_in_any_layout) {
    for (const int64_t n : {1, 15, 16, 33, 1031}) {
        for (const Layout layout : {Layout::contiguous, Layout::padded_rows, Layout::transposed01}) {
            OpCheck c;
            ggml_tensor * a = c.input(GGML_TYPE_F32, {n, 67, 1, 1}, layout);
            for (int64_t i = 0; i < n; i += 2) set_element(a, i, 7, 0, 0, NAN);
            for (int64_t i = n / 2; i < n; ++i) set_element(a, i, 9, 0, 0, 2.0);
            c.check(ggml_argmax(c.ctx(), a), kExact, kFewThreads);
        }
    }
}

TEST(count_equal, counts_agreeing_places) {
    OpCheck c;
    expect_values(c, ggml_count_equal(c.ctx(), c.indices({1, 2, 3, 4}), c.indices({1, 0, 3, -4})), {2});
    expect_values(c, ggml_count_equal(c.ctx(), c.indices({}), c.indices({})), {0});
    for (const Layout layout : kLayouts) {
        ggml_tensor * a = c.input(GGML_TYPE_I32, {127, 67, 5, 2}, layout, 0, 3);
        ggml_tensor * b = c.input(GGML_TYPE_I32, {127, 67, 5, 2}, Layout::contiguous, 0, 3);
        c.check(ggml_count_equal(c.ctx(), a, b), kExact, kFewThreads);
    }
}

} // namespace
} // namespace ggml::test
