// GET_ROWS and SET_ROWS.
#include "tests/support/log_capture.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace ggml::test {
namespace {

const RunOptions kThreads = {{1, 2, 3, 4, 5, 6, 7, 8}, false, true};
const RunOptions kFewThreads = {{1, 3}, true, true};

constexpr ggml_type kReadable[] = {GGML_TYPE_F32,  GGML_TYPE_F16,  GGML_TYPE_BF16, GGML_TYPE_Q4_0,
                                   GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0,
                                   GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K,
                                   GGML_TYPE_Q6_K};

TEST(get_rows, reads_every_type) {
    for (const ggml_type type : kReadable) {
        OpCheck c;
        ggml_tensor * a = c.input(type, {1280, 11, 2, 1});
        ggml_tensor * b = c.indices({10, 0, 3, 3, 7, 1, 9, 9}, {4, 2, 1, 1});
        c.check(ggml_get_rows(c.ctx(), a, b), kExact, kFewThreads);
    }
}

TEST(get_rows, reads_i32_rows_as_i32) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_I32, {5, 4, 1, 1}, Layout::contiguous, -1e9f, 1e9f);
    ggml_tensor * result = ggml_get_rows(c.ctx(), a, c.indices({3, 0, 3}));
    EXPECT_EQ(result->type, GGML_TYPE_I32);
    c.check(result, kExact, kFewThreads);
}

TEST(get_rows, takes_any_layout_of_plain_rows_and_indexes) {
    for (const Layout layout :
         {Layout::padded_rows, Layout::transposed01, Layout::permuted12, Layout::permuted23}) {
        OpCheck c;
        ggml_tensor * a = c.input(GGML_TYPE_F16, {37, 13, 3, 2}, layout);
        ggml_tensor * b = c.input(GGML_TYPE_I32, {7, 3, 2, 1}, Layout::transposed01, 0, 12);
        c.check(ggml_get_rows(c.ctx(), a, b), kExact, kFewThreads);
    }
}

TEST(get_rows, gives_the_rows_in_the_order_of_the_indexes) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4, 5, 6}, {2, 3, 1, 1});
    ggml_tensor * result = ggml_get_rows(c.ctx(), a, c.indices({2, 0, 2}));
    EXPECT_EQ(c.compute(result, true), (std::vector<double>{5, 6, 1, 2, 5, 6}));
    EXPECT_EQ(c.compute(result, false), (std::vector<double>{5, 6, 1, 2, 5, 6}));
}

TEST(get_rows, gives_the_same_for_one_to_eight_threads_and_many_rows) {
    OpCheck c(64u << 20);
    std::vector<int64_t> rows(70000);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = int64_t(i * 7919 % 1009);
    ggml_tensor * a = c.input(GGML_TYPE_BF16, {9, 1009, 1, 1});
    c.check(ggml_get_rows(c.ctx(), a, c.indices(rows)), kExact, kThreads);
}

TEST(get_rows, fails_on_an_index_outside_and_says_which) {
    for (const int64_t bad : {int64_t(-1), int64_t(4), int64_t(INT32_MAX), int64_t(INT32_MIN)}) {
        OpCheck c;
        ggml_tensor * a = c.input(GGML_TYPE_F32, {8, 4, 1, 1});
        ggml_tensor * result = ggml_get_rows(c.ctx(), a, c.indices({0, bad, 1}));
        ggml_set_name(result, "lookup");
        for (const bool use_ref : {false, true}) {
            LogCapture log;
            EXPECT_EQ(c.compute_status(result, use_ref, 2), GGML_STATUS_FAILED);
            EXPECT_NE(log.text.find("lookup"), std::string::npos) << log.text;
            EXPECT_NE(log.text.find(std::to_string(bad)), std::string::npos) << log.text;
        }
    }
}

TEST(get_rows, no_indexes_give_no_rows) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F32, {8, 4, 1, 1});
    EXPECT_TRUE(c.compute(ggml_get_rows(c.ctx(), a, c.indices({})), false).empty());
}

TEST(set_rows, writes_every_type_from_f32_and_f16) {
    for (const ggml_type type : kReadable) {
        for (const ggml_type from : {GGML_TYPE_F32, GGML_TYPE_F16}) {
            OpCheck c;
            ggml_tensor * a = c.input(type, {1280, 9, 4, 2});
            ggml_tensor * b = c.input(from, {1280, 3, 4, 2}, Layout::permuted12);
            ggml_tensor * i = c.indices({8, 2, 0, 1, 7, 3}, {3, 2, 1, 1}, GGML_TYPE_I64);
            c.check(ggml_set_rows(c.ctx(), a, b, i), kExact, kFewThreads);
        }
    }
}

TEST(set_rows, leaves_the_other_rows_alone) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4, 1, 1});
    ggml_tensor * b = c.values({-1, -2, -3, -4}, {2, 2, 1, 1});
    ggml_tensor * result = ggml_set_rows(c.ctx(), a, b, c.indices({3, 1}, GGML_TYPE_I32));
    EXPECT_EQ(c.compute(result, true), (std::vector<double>{1, 2, -3, -4, 5, 6, -1, -2}));
    EXPECT_EQ(c.compute(result, false, 2), (std::vector<double>{1, 2, -3, -4, 5, 6, -1, -2}));
    EXPECT_EQ(read_elements(a)[7], -2.0);
}

TEST(set_rows, the_last_of_repeated_indexes_wins_for_any_thread_count) {
    OpCheck c;
    std::vector<int64_t> rows(2000);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = int64_t(i * i % 37);
    ggml_tensor * a = c.input(GGML_TYPE_F16, {64, 40, 1, 1});
    ggml_tensor * b = c.input(GGML_TYPE_F32, {64, 2000, 1, 1});
    c.check(ggml_set_rows(c.ctx(), a, b, c.indices(rows, GGML_TYPE_I64)), kExact, kThreads);
}

TEST(set_rows, propagates_nan_and_infinity) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F32, {3, 3, 1, 1});
    ggml_tensor * b = c.values({NAN, INFINITY, -INFINITY}, {3, 1, 1, 1});
    const std::vector<double> out = c.compute(ggml_set_rows(c.ctx(), a, b, c.indices({1})), false);
    EXPECT_TRUE(std::isnan(out[3]));
    EXPECT_EQ(out[4], double(INFINITY));
    EXPECT_EQ(out[5], double(-INFINITY));
}

TEST(set_rows, a_bad_index_fails_before_anything_is_written) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F32, {8, 4, 1, 1});
    const std::vector<double> before = read_elements(a);
    ggml_tensor * b = c.input(GGML_TYPE_F32, {8, 2, 1, 1}, Layout::contiguous, 5, 6);
    ggml_tensor * result = ggml_set_rows(c.ctx(), a, b, c.indices({1, int64_t(1) << 40}, GGML_TYPE_I64));
    ggml_set_name(result, "cache");
    LogCapture log;
    EXPECT_EQ(c.compute_status(result, false, 2), GGML_STATUS_FAILED);
    EXPECT_NE(log.text.find("cache"), std::string::npos) << log.text;
    EXPECT_NE(log.text.find("1099511627776"), std::string::npos) << log.text;
    EXPECT_EQ(read_elements(a), before);
}

TEST(set_rows, no_rows_change_nothing) {
    OpCheck c;
    ggml_tensor * a = c.input(GGML_TYPE_F32, {8, 4, 1, 1});
    const std::vector<double> before = read_elements(a);
    ggml_tensor * b = c.input(GGML_TYPE_F32, {8, 0, 1, 1});
    EXPECT_EQ(c.compute(ggml_set_rows(c.ctx(), a, b, c.indices({})), false, 2), before);
}

} // namespace
} // namespace ggml::test
