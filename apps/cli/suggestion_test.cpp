#include "apps/cli/suggestion.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

const std::vector<std::string> kWords = {"euler", "euler_a", "heun", "dpm2", "lcm", "q4_K"};

TEST(suggestion, a_slip_of_the_keyboard_is_understood) {
    for (const char * slip : {"eulr", "eular", "uler", "eulerr", "eluer", "EULER"})
        EXPECT_EQ(nearest(slip, kWords), "euler") << slip;
    EXPECT_EQ(nearest("euler-a", kWords), "euler_a");
    EXPECT_EQ(nearest("q4_k", kWords), "q4_K");
    EXPECT_EQ(did_you_mean("lmc", kWords), "; did you mean lcm?");
}

TEST(suggestion, other_words_are_not_bent) {
    for (const char * other : {"", "x", "magic", "ddim", "dice"})
        EXPECT_EQ(nearest(other, kWords), "") << other;
    EXPECT_EQ(nearest(std::string(100000, 'e'), kWords), "");
    EXPECT_EQ(did_you_mean("magic", kWords), "");
    EXPECT_EQ(nearest("euler", {}), "");
}

TEST(suggestion, the_nearest_wins_and_of_equals_the_first) {
    EXPECT_EQ(nearest("--stpes", {"--strength", "--steps"}), "--steps");
    EXPECT_EQ(nearest("cap", {"cat", "car"}), "cat");
}

} // namespace
} // namespace cli
