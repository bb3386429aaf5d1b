#include "sampling/guidance.h"
#include "sampling/test_run.h"

#include <gtest/gtest.h>

namespace sd::test {
namespace {

using Floats = std::vector<float>;

Floats combined(Guidance & guidance, int step, const Floats & cond, const Floats & uncond) {
    Floats out(cond.size());
    guidance.combine(step, cond.data(), uncond.data(), cond.size(), out.data());
    return out;
}

Floats combined(float scale, const char * extra, const Floats & cond, const Floats & uncond) {
    Guidance guidance(scale, 1, KeyValues::parse(extra));
    return combined(guidance, 1, cond, uncond);
}

TEST(guidance, it_continues_the_line_from_without_to_with_the_prompt) {
    EXPECT_EQ(combined(3.0f, "", {2.0f, -1.0f}, {1.0f, 1.0f}), (Floats{4.0f, -5.0f}));
    EXPECT_EQ(combined(0.0f, "", {2.0f, -1.0f}, {1.0f, 1.0f}), (Floats{1.0f, 1.0f}));
}

TEST(guidance, the_result_may_replace_an_input) {
    Floats cond = {2.0f, -1.0f}, uncond = {1.0f, 1.0f};
    combine_cfg(cond.data(), uncond.data(), 3.0f, 2, cond.data());
    EXPECT_EQ(cond, (Floats{4.0f, -5.0f}));
    Guidance guidance(3.0f, 1, KeyValues::parse("apg_eta=0"));
    cond = {2.0f, 0.0f};
    guidance.combine(1, cond.data(), uncond.data(), 2, cond.data());
    EXPECT_EQ(cond, (Floats{2.0f, -2.0f}));
}

TEST(guidance, scale_1_needs_no_second_answer) {
    EXPECT_FALSE(Guidance(1.0f, 8, {}).ever_needs_uncond());
    EXPECT_TRUE(Guidance(0.0f, 8, {}).ever_needs_uncond());
    EXPECT_TRUE(Guidance(5.5f, 8, {}).needs_uncond(3));
}

TEST(guidance, schedules_count_from_the_first_step) {
    EXPECT_EQ(parse_guidance_schedule("5.5x2+1x3+ 0.5 "), (Floats{5.5f, 5.5f, 1.0f, 1.0f, 1.0f, 0.5f}));
    const Guidance guidance(7.0f, 4, KeyValues::parse("guidance_schedule=5.5x2+1x2"));
    EXPECT_EQ(guidance.scale(1), 5.5f);
    EXPECT_EQ(guidance.scale(-2), 5.5f); // the first evaluation of step 2
    EXPECT_EQ(guidance.scale(3), 1.0f);
    EXPECT_TRUE(guidance.needs_uncond(2));
    EXPECT_FALSE(guidance.needs_uncond(4));
    EXPECT_TRUE(guidance.ever_needs_uncond());
    EXPECT_FALSE(Guidance(7.0f, 2, KeyValues::parse("guidance_schedule=1x2")).ever_needs_uncond());
}

TEST(guidance, schedules_that_are_wrong_are_refused) {
    const auto reason = [](const char * text) { return reason_of([&] { parse_guidance_schedule(text); }); };
    EXPECT_EQ(reason(""), "guidance_schedule: \"\" is no SCALExCOUNT");
    EXPECT_EQ(reason("5x"), "guidance_schedule: \"5x\" is no SCALExCOUNT");
    EXPECT_EQ(reason("5x2+-1"), "guidance_schedule: \"-1\" is no SCALExCOUNT");
    EXPECT_EQ(reason("5x0"), "guidance_schedule: \"5x0\" is no SCALExCOUNT");
    EXPECT_EQ(reason("5x1.5"), "guidance_schedule: \"5x1.5\" is no SCALExCOUNT");
    EXPECT_EQ(reason("5x1e300"), "guidance_schedule: \"5x1e300\" is no SCALExCOUNT");
    EXPECT_EQ(reason("5x9999+5x2"), "guidance_schedule: more than 10000 entries");
    EXPECT_EQ(reason_of([] { Guidance(1.0f, 5, KeyValues::parse("guidance_schedule=2x4")); }),
              "guidance_schedule has 4 entries for 5 steps");
    EXPECT_EQ(reason_of([] { Guidance(-1.0f, 5, {}); }),
              "guidance scale -1.000000 is no number from 0 to 1000");
    EXPECT_EQ(reason_of([] { Guidance(NAN, 5, {}); }), "guidance scale nan is no number from 0 to 1000");
}

TEST(guidance, projection_with_eta_0_leaves_only_what_stands_across) {
    // delta = (1, -2); along cond (2, 0) it is (1, 0)
    EXPECT_EQ(combined(3.0f, "apg_eta=0", {2.0f, 0.0f}, {1.0f, 2.0f}), (Floats{2.0f, -4.0f}));
    EXPECT_EQ(combined(3.0f, "apg_eta=0.5", {2.0f, 0.0f}, {1.0f, 2.0f}), (Floats{3.0f, -4.0f}));
}

TEST(guidance, projection_on_nothing_is_no_division_by_0) {
    EXPECT_EQ(combined(3.0f, "apg_eta=0", {0.0f, 0.0f}, {1.0f, 2.0f}), (Floats{-2.0f, -4.0f}));
    EXPECT_EQ(combined(3.0f, "apg_norm_threshold=1", {1.0f, 2.0f}, {1.0f, 2.0f}), (Floats{1.0f, 2.0f}));
    EXPECT_EQ(
        combined(3.0f, "apg_norm_threshold=1,apg_norm_threshold_smoothing=2", {1.0f, 2.0f}, {1.0f, 2.0f}),
        (Floats{1.0f, 2.0f}));
}

TEST(guidance, the_threshold_limits_the_norm_of_an_image_of_256_squared) {
    // |delta| = 5 for 4 values: 5 * 256 / 2 = 640
    const Floats cond = {3.0f, 4.0f, 0.0f, 0.0f}, uncond(4, 0.0f);
    const Floats half = combined(2.0f, "apg_norm_threshold=320", cond, uncond);
    EXPECT_NEAR(half[0], 3.0f + 1.5f, 1e-6f);
    EXPECT_NEAR(half[1], 4.0f + 2.0f, 1e-6f);
    EXPECT_EQ(combined(2.0f, "apg_norm_threshold=700", cond, uncond), (Floats{6.0f, 8.0f, 0.0f, 0.0f}));
    // r = 1/2, q = 1: r/(1 + r) = 1/3
    const Floats soft = combined(2.0f, "apg_norm_threshold=320,apg_norm_threshold_smoothing=1", cond, uncond);
    EXPECT_NEAR(soft[0], 3.0f + 1.0f, 1e-6f);
}

TEST(guidance, momentum_adds_up_until_a_restart) {
    Guidance guidance(2.0f, 8, KeyValues::parse("apg_momentum=0.5"));
    const Floats cond = {2.0f}, uncond = {1.0f};
    EXPECT_EQ(combined(guidance, 1, cond, uncond)[0], 3.0f);
    EXPECT_EQ(combined(guidance, 2, cond, uncond)[0], 3.5f);
    EXPECT_EQ(combined(guidance, 3, cond, uncond)[0], 3.75f);
    guidance.restart();
    EXPECT_EQ(combined(guidance, 1, cond, uncond)[0], 3.0f);
}

} // namespace
} // namespace sd::test
