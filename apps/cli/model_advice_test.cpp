#include "apps/cli/model_advice.h"

#include <gtest/gtest.h>

namespace cli {
namespace {

const sd_model_advice_t kAdvice = {64, 48, 12, 3.5f, INFINITY, "heun", "simple", false};
const sd_model_advice_t kNone = {0, 0, 0, INFINITY, INFINITY, nullptr, nullptr, false};

TEST(model_advice, is_taken_where_nothing_is_given_and_said) {
    Arguments a;
    Inputs in;
    EXPECT_EQ(take_advice(kAdvice, a, in),
              "the model's own settings: 64x48, 12 steps, cfg scale 3.5, heun, simple (options change them)");
    EXPECT_EQ(in.width, 64);
    EXPECT_EQ(in.height, 48);
    EXPECT_EQ(a.steps, 12);
    EXPECT_EQ(a.cfg_scale, 3.5f);
    EXPECT_EQ(a.sampling_method, "heun");
    EXPECT_EQ(a.scheduler, "simple");
}

TEST(model_advice, a_flow_shift_is_said_and_kept_for_the_record) {
    sd_model_advice_t advice = kNone;
    advice.flow_shift = -0.5f;
    Arguments a;
    Inputs in;
    EXPECT_EQ(take_advice(advice, a, in), "the model's own settings: flow shift -0.5 (options change them)");
    EXPECT_EQ(a.flow_shift, -0.5f);
    a.given = {{"--flow-shift", ""}};
    EXPECT_EQ(take_advice(advice, a, in), "");
}

TEST(model_advice, what_is_given_stays) {
    Arguments a;
    Inputs in;
    a.given = {{"--width", ""},     {"--height", ""},          {"--steps", ""},
               {"--cfg-scale", ""}, {"--sampling-method", ""}, {"--scheduler", ""}};
    EXPECT_EQ(take_advice(kAdvice, a, in), "");
    EXPECT_EQ(in.width, 512);
    EXPECT_EQ(a.steps, 20);
    EXPECT_EQ(a.cfg_scale, 7.0f);
    EXPECT_EQ(a.sampling_method + a.scheduler, "");
}

TEST(model_advice, one_side_alone_leaves_the_other_to_the_model) {
    Arguments a;
    Inputs in;
    in.width = 128;
    a.given = {{"--width", ""}};
    EXPECT_TRUE(take_advice(kAdvice, a, in).starts_with("the model's own settings: 128x48, "));
    EXPECT_EQ(in.height, 48);
    in.width = 512;
    in.height = 16;
    a.given = {{"--height", ""}};
    EXPECT_TRUE(take_advice(kAdvice, a, in).starts_with("the model's own settings: 64x16, "));
}

TEST(model_advice, a_picture_to_begin_from_and_sigmas_decide_for_themselves) {
    Arguments a;
    Inputs in;
    a.init_image = "x.png";
    a.given = {{"--sigmas", ""}, {"--init-img", ""}};
    EXPECT_EQ(take_advice(kAdvice, a, in),
              "the model's own settings: cfg scale 3.5, heun (options change them)");
    EXPECT_EQ(in.width, 512);
}

TEST(model_advice, turbo_by_name_is_said_as_such) {
    Arguments a;
    Inputs in;
    sd_model_advice_t turbo = kNone;
    turbo.steps = 8;
    turbo.cfg_scale = 1.0f;
    turbo.by_name = true;
    EXPECT_EQ(take_advice(turbo, a, in),
              "the model's name says turbo: 8 steps, cfg scale 1 (options change them)");
    EXPECT_EQ(take_advice(kNone, a, in), "");
}

} // namespace
} // namespace cli
