#include "runtime/base/math.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

namespace {

using namespace ggml;

constexpr size_t kMax = std::numeric_limits<size_t>::max();

TEST(math, products_and_sums_that_do_not_fit_are_refused) {
    size_t out = 0;
    EXPECT_TRUE(checked_mul<size_t>(kMax, 1, out));
    EXPECT_EQ(out, kMax);
    EXPECT_FALSE(checked_mul<size_t>(kMax / 2 + 1, 2, out));
    EXPECT_FALSE(checked_add<size_t>(kMax, 1, out));
    int64_t signed_out = 0;
    EXPECT_FALSE(checked_mul(std::numeric_limits<int64_t>::max(), int64_t(2), signed_out));
}

TEST(math, alignment_rounds_up_and_refuses_to_wrap) {
    EXPECT_EQ(align_up(0, 16), 0u);
    EXPECT_EQ(align_up(1, 16), 16u);
    EXPECT_EQ(align_up(16, 16), 16u);
    size_t out = 0;
    EXPECT_TRUE(checked_align_up(kMax - 15, 16, out));
    EXPECT_EQ(out, kMax - 15);
    EXPECT_FALSE(checked_align_up(kMax - 14, 16, out));
}

TEST(math, saturating_sizes_stick_at_the_largest_one) {
    EXPECT_EQ(saturating_mul(3, int64_t(5), sizeof(float)), 60u);
    EXPECT_EQ(saturating_mul(int64_t(1) << 62, 4), kMax);
    EXPECT_EQ(saturating_mul(int64_t(1) << 62, 4, 2), kMax);
    EXPECT_EQ(saturating_mul(int64_t(1) << 62, 4, 0), 0u);
    EXPECT_EQ(saturating_add(kMax, 0), kMax);
    EXPECT_EQ(saturating_add(kMax - 1, 1, 1), kMax);
    EXPECT_EQ(saturating_add(1, 2, 3), 6u);
    EXPECT_EQ(saturating_align_up(kMax - 15, 16), kMax - 15);
    EXPECT_EQ(saturating_align_up(kMax - 14, 16), kMax);
    EXPECT_EQ(saturating_align_up(kMax, 64), kMax);
}

TEST(math, powers_of_two_are_recognised) {
    EXPECT_FALSE(is_power_of_two(0));
    EXPECT_TRUE(is_power_of_two(1));
    EXPECT_FALSE(is_power_of_two(6));
    EXPECT_TRUE(is_power_of_two(size_t(1) << 63));
}

TEST(math, ceil_div_counts_whole_units) {
    EXPECT_EQ(ceil_div(0, 4), 0);
    EXPECT_EQ(ceil_div(1, 4), 1);
    EXPECT_EQ(ceil_div(8, 4), 2);
    EXPECT_EQ(ceil_div(-1, 4), 0);
    EXPECT_EQ(ceil_div(-5, 4), -1);
    EXPECT_EQ(ceil_div(INT64_MAX, 32), int64_t(1) << 58);
    EXPECT_EQ(ceil_div(INT64_MIN, 32), -(int64_t(1) << 58));
}

} // namespace
