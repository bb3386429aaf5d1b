#include "ggml.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

namespace {

TEST(identity, version_and_commit_are_never_empty) {
    EXPECT_GE(std::strlen(ggml_version()), 5u);
    EXPECT_GE(std::strlen(ggml_commit()), 1u);
}

TEST(guid, matches_only_when_all_bytes_do) {
    ggml_guid a = {1, 2, 3};
    ggml_guid b = {1, 2, 3};
    EXPECT_TRUE(ggml_guid_matches(&a, &b));
    b[15] = 1;
    EXPECT_FALSE(ggml_guid_matches(&a, &b));
}

TEST(clock, never_runs_backwards) {
    ggml_time_init();
    const int64_t us = ggml_time_us();
    const int64_t ms = ggml_time_ms();
    EXPECT_GE(ggml_time_us(), us);
    EXPECT_GE(ggml_time_ms(), ms);
    EXPECT_GE(ms, us / 1000);
    EXPECT_GT(ggml_cycles_per_ms(), 0);
    const int64_t cycles = ggml_cycles();
    EXPECT_GE(ggml_cycles(), cycles);
}

TEST(file, opens_utf8_paths_and_returns_null_for_missing_ones) {
    const auto folder = std::filesystem::temp_directory_path();
    const std::string path = (folder / "ggml-fopen-grün-日本.tmp").string();
    FILE * out = ggml_fopen(path.c_str(), "wb");
    ASSERT_NE(out, nullptr);
    EXPECT_EQ(std::fputs("text", out) >= 0, true);
    std::fclose(out);
    EXPECT_EQ(std::filesystem::file_size(std::filesystem::u8path(path)), 4u);
    std::filesystem::remove(std::filesystem::u8path(path));
    EXPECT_EQ(ggml_fopen(path.c_str(), "rb"), nullptr);
}

} // namespace
