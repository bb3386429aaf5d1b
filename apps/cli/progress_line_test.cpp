#include "apps/cli/progress_line.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

const Standing kHalf = {"sampling", 4, 8, 2.0, Unit::steps};

TEST(progress_line, durations_are_short) {
    EXPECT_EQ(duration(0.04), "0.0 s");
    EXPECT_EQ(duration(99.0), "99.0 s");
    EXPECT_EQ(duration(245.0), "4 min 05 s");
    EXPECT_EQ(duration(7505.0), "2 h 05 min");
}

TEST(progress_line, the_pace_is_steps_a_second_or_seconds_a_step) {
    EXPECT_EQ(standing_text(kHalf), "4/8, 2.00 it/s, 2.0 s left");
    EXPECT_EQ(standing_text({"x", 1, 8, 20.0, Unit::steps}), "1/8, 20.00 s/it, 2 min 20 s left");
    EXPECT_EQ(standing_text({"x", 8, 8, 20.0, Unit::steps}), "8/8, 20.0 s");
    EXPECT_EQ(standing_text({"x", 0, 8, 0.0, Unit::steps}), "0/8");
    EXPECT_EQ(standing_text({"x", 50 << 20, 200 << 20, 1.0, Unit::bytes}),
              "50/200 MiB, 50 MiB/s, 3.0 s left");
}

TEST(progress_line, never_wider_than_the_terminal) {
    EXPECT_EQ(progress_line(kHalf, 200),
              "sampling |====================                    | 4/8, 2.00 it/s, 2.0 s left");
    EXPECT_EQ(progress_line(kHalf, 48), "sampling |=====     | 4/8, 2.00 it/s, 2.0 s left");
    EXPECT_EQ(progress_line(kHalf, 40), "sampling 4/8, 2.00 it/s, 2.0 s left");
    EXPECT_EQ(progress_line(kHalf, 12), "sampling 4/8");
    for (int width = 0; width < 120; ++width) EXPECT_LE(int(progress_line(kHalf, width).size()), width);
}

} // namespace
} // namespace cli
