#include "runtime/base/log.h"

#include <gtest/gtest.h>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Lines {
    std::vector<std::pair<ggml_log_level, std::string>> seen;
    static void collect(ggml_log_level level, const char * text, void * user_data) {
        static_cast<Lines *>(user_data)->seen.emplace_back(level, text);
    }
};

class Log : public testing::Test {
  protected:
    void SetUp() override { ggml_log_set(Lines::collect, &lines); }
    void TearDown() override { ggml_log_set(nullptr, nullptr); }
    Lines lines;
};

TEST_F(Log, reaches_the_callback_with_level_and_text) {
    GGML_LOG_WARN("%d of %s\n", 3, "four");
    GGML_LOG_ERROR("bad\n");
    ASSERT_EQ(lines.seen.size(), 2u);
    EXPECT_EQ(lines.seen[0], std::make_pair(GGML_LOG_LEVEL_WARN, std::string("3 of four\n")));
    EXPECT_EQ(lines.seen[1], std::make_pair(GGML_LOG_LEVEL_ERROR, std::string("bad\n")));
}

TEST_F(Log, carries_lines_of_any_length) {
    const std::string longer(100000, 'y');
    GGML_LOG_INFO("%s", longer.c_str());
    ASSERT_EQ(lines.seen.size(), 1u);
    EXPECT_EQ(lines.seen[0].second, longer);
}

TEST_F(Log, what_a_callback_throws_does_not_reach_whoever_logs) {
    ggml_log_set([](ggml_log_level, const char *, void *) { throw std::bad_alloc(); }, nullptr);
    EXPECT_NO_THROW(GGML_LOG_ERROR("short\n"));
    EXPECT_NO_THROW(GGML_LOG_ERROR("%s\n", std::string(5000, 'x').c_str()));
}

TEST_F(Log, get_returns_what_was_set) {
    ggml_log_callback callback = nullptr;
    void * user_data = nullptr;
    ggml_log_get(&callback, &user_data);
    EXPECT_EQ(callback, Lines::collect);
    EXPECT_EQ(user_data, &lines);
}

TEST_F(Log, goes_to_stderr_when_no_callback_is_set) {
    ggml_log_set(nullptr, nullptr);
    testing::internal::CaptureStderr();
    GGML_LOG_INFO("to stderr\n");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "to stderr\n");
    EXPECT_TRUE(lines.seen.empty());
}

TEST_F(Log, callback_may_log_and_replace_itself) {
    static Lines inner;
    ggml_log_set(
        [](ggml_log_level, const char *, void *) {
            ggml_log_set(Lines::collect, &inner);
            GGML_LOG_INFO("inside\n");
        },
        nullptr);
    GGML_LOG_INFO("outside\n");
    ASSERT_EQ(inner.seen.size(), 1u);
    EXPECT_EQ(inner.seen[0].second, "inside\n");
}

} // namespace
