#include "tools/op-bench/timing.h"

#include <gtest/gtest.h>

namespace op_bench {
namespace {

TEST(op_bench_timing, runs_everybody_once_even_without_a_budget) {
    const std::atomic<bool> stop = false;
    int a = 0, b = 0;
    const auto samples = time_in_turn({[&] { ++a; }, [&] { ++b; }}, 0, stop);
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, 1);
    for (const Samples & s : samples) EXPECT_EQ(s.seconds.size(), 1u);
}

TEST(op_bench_timing, keeps_nothing_of_a_run_that_was_interrupted) {
    std::atomic<bool> stop = false;
    int runs = 0;
    const auto interrupted = [&] {
        if (++runs == 3) stop = true;
    };
    for (const Samples & s : time_in_turn({interrupted}, 60, stop)) {
        EXPECT_TRUE(s.seconds.empty());
        EXPECT_EQ(s.median(), 0);
    }
    EXPECT_EQ(runs, 3);
}

TEST(op_bench_timing, starts_nothing_when_it_is_stopped_already) {
    const std::atomic<bool> stop = true;
    const auto samples = time_in_turn({[] { FAIL(); }}, 1, stop);
    ASSERT_EQ(samples.size(), 1u);
    EXPECT_TRUE(samples[0].seconds.empty());
}

} // namespace
} // namespace op_bench
