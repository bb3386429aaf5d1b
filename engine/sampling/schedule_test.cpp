#include "sampling/schedule.h"
#include "sampling/test_run.h"

#include <gtest/gtest.h>

namespace sd::test {
namespace {

ScheduleRequest request_for(int steps, float shift = kDefaultFlowShift, std::string_view extra = {}) {
    return {steps, 128, 128, Flow(shift), KeyValues::parse(extra)};
}

Sigmas schedule_of(std::string_view name, int steps, float shift = kDefaultFlowShift) {
    return make_schedule(name, request_for(steps, shift));
}

// tolerance 0: to the bit
void expect_levels(const Sigmas & got, const Sigmas & expected, float tolerance) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << "level " << i;
}

TEST(schedule, eight_steps_are_the_published_ones) {
    const std::vector<std::pair<const char *, Sigmas>> published = {
        {"simple",
         {1, 0.9567237f, 0.9045308f, 0.8403488f, 0.7595109f, 0.6545668f, 0.5128441f, 0.3109011f, 0}},
        {"discrete",
         {1, 0.9499281f, 0.887723f, 0.8083667f, 0.7036315f, 0.5590252f, 0.3464283f, 0.003151583f, 0}},
        {"sgm_uniform",
         {1, 0.9567711f, 0.9046459f, 0.8405634f, 0.7598761f, 0.6551694f, 0.5138424f, 0.3126124f, 0}},
        {"karras",
         {1, 0.55735f, 0.2945152f, 0.1459789f, 0.0669065f, 0.02780301f, 0.01018391f, 0.00315139f, 0}},
        {"exponential",
         {1, 0.4391806f, 0.1928796f, 0.08470901f, 0.03720256f, 0.01633864f, 0.007175616f, 0.003151392f, 0}},
        {"kl_optimal",
         {1, 0.7982102f, 0.6295983f, 0.4832395f, 0.3519377f, 0.2306129f, 0.1154092f, 0.003151392f, 0}},
        {"smoothstep",
         {1, 0.9859724f, 0.9447105f, 0.8723853f, 0.7602407f, 0.5944535f, 0.3703487f, 0.1269091f, 0}},
        {"lcm", {1, 0.958609f, 0.909099f, 0.848818f, 0.759511f, 0.659362f, 0.525984f, 0.339552f, 0}},
        {"beta", {1, 0.98122f, 0.936653f, 0.865613f, 0.760241f, 0.608691f, 0.404486f, 0.162797f, 0}},
        {"bong_tangent", {1, 0.971434f, 0.929645f, 0.86332f, 0.745106f, 0.501576f, 0.215601f, 0.072578f, 0}},
    };
    for (const auto & [name, sigmas] : published) {
        SCOPED_TRACE(name);
        expect_levels(schedule_of(name, 8), sigmas, 6e-7f);
    }
}

TEST(schedule, other_step_counts_are_the_published_ones_to_the_bit) {
    expect_levels(schedule_of("discrete", 4), {1, 0.86349744f, 0.6129789f, 0.0031513916f, 0}, 0);
    expect_levels(schedule_of("discrete", 4, 3.0f), {1, 0.97574663f, 0.9096896f, 0.019709375f, 0}, 0);
    expect_levels(schedule_of("discrete", 1), {1, 0}, 0);
    expect_levels(schedule_of("simple", 6),
                  {1, 0.94071287f, 0.86349744f, 0.75951093f, 0.6129789f, 0.38768828f, 0}, 0);
    expect_levels(schedule_of("simple", 4), {1, 0.90453076f, 0.75951093f, 0.5128441f, 0}, 1e-7f); // 7 digits
    expect_levels(schedule_of("karras", 5), {1, 0.34734812f, 0.09990728f, 0.0219165981f, 0.0031513898f, 0},
                  0);
}

TEST(schedule, normal_is_another_name_of_discrete) {
    EXPECT_EQ(schedule_of("normal", 7), schedule_of("discrete", 7));
}

TEST(schedule, simple_is_the_even_grid_where_steps_divide_1000) {
    const float e = float(std::exp(1.15f));
    for (const int n : {1, 2, 4, 5, 8, 20, 25, 40, 50, 100}) {
        const Sigmas sigmas = schedule_of("simple", n);
        ASSERT_EQ(sigmas.size(), size_t(n) + 1);
        for (int j = 0; j < n; ++j) {
            const float x = float(n - j) / float(n);
            EXPECT_NEAR(sigmas[size_t(j)], e / (e + 1.0f / x - 1.0f), 3e-7f) << n << " steps, level " << j;
        }
    }
}

// make_schedule checks what it returns; here it must succeed.
TEST(schedule, all_schedulers_give_usable_levels_for_all_step_counts) {
    for (const std::string & name : usable_schedulers()) {
        SCOPED_TRACE(name);
        for (int n = 1; n <= 120; ++n) {
            const Sigmas sigmas = schedule_of(name, n);
            ASSERT_LE(sigmas.size(), size_t(n) + 1) << n;
            ASSERT_EQ(sigmas.back(), 0.0f) << n;
            ASSERT_GT(sigmas.front(), 0.99f) << n;
        }
    }
}

TEST(schedule, steps_that_fall_on_one_place_are_left_out) {
    EXPECT_EQ(schedule_of("lcm", 200).size(), 51u);
    EXPECT_EQ(schedule_of("simple", 3000).size(), 1001u);
    EXPECT_LT(schedule_of("beta", 200).size(), 201u);
    EXPECT_EQ(schedule_of("beta", 8).size(), 9u);
}

TEST(schedule, beta_takes_its_parameters) {
    const Sigmas even = make_schedule("beta", request_for(3, 1.15f, "alpha=1,beta=1"));
    const Flow flow;
    expect_levels(even, {1, flow.sigma(666), flow.sigma(333), 0}, 0);
    EXPECT_EQ(reason_of([] { make_schedule("beta", request_for(3, 1.15f, "alpha=0")); }),
              "sample argument alpha: \"0\" is no number from 0.01 to 50");
}

TEST(schedule, sizes_shift_as_published) {
    // 128 x 128 latent pixels: mu = 0.5 + 16128 * 0.65/3840 = 3.23
    expect_levels(schedule_of("flux", 2), {1, 0.96194775f, 0}, 2e-7f);
    ScheduleRequest small = request_for(2);
    small.latent_width = small.latent_height = 16; // mu = 0.5
    expect_levels(make_schedule("flux", small), {1, 0.62245933f, 0}, 2e-7f);
    small.latent_width = small.latent_height = 32;
    // ltx2 at 1024: base shift 0.95, not stretched: 1/(1 + e^-0.95)
    small.extra = KeyValues::parse("stretch=0");
    expect_levels(make_schedule("ltx2", small), {1, 0.7211152f, 0}, 2e-7f);
    small.extra = KeyValues::parse("terminal=0.25");
    expect_levels(make_schedule("ltx2", small), {1, 0.25f, 0}, 2e-7f);
    // flux2 at 1024 pixels and 10 steps is the line for 10: 8.73809524e-5 * 1024 + 1.89833333 = 1.98781143
    small.steps = 10, small.extra = {};
    EXPECT_NEAR(make_schedule("flux2", small)[5], 0.8795114f, 1e-6f);
    small.latent_width = small.latent_height = 128; // beyond 4300: the line for 200
    EXPECT_NEAR(make_schedule("flux2", small)[5], 1.0 / (1.0 + std::exp(-(1.6927e-4 * 16384 + 0.45666666))),
                1e-6);
}

TEST(schedule, logit_normal_is_the_normal_distribution_behind_a_sigmoid) {
    const Sigmas sigmas = schedule_of("logit_normal", 4);
    // the quartile of the normal distribution is 0.6744898; the first level is the limit 18
    expect_levels(sigmas, {0.99987661f, 0.765012f, 0.5f, 0.234988f, 0}, 3e-7f);
    const Sigmas large = make_schedule("logit_normal", request_for(4, 1.15f, "resolution_aware=1"));
    EXPECT_NEAR(large[2], 1.0 / (1.0 + std::exp(-0.5 * std::log(16.0))), 1e-6);
}

TEST(schedule, schedulers_that_depend_on_size_say_that_it_is_missing) {
    ScheduleRequest request;
    for (const char * name : {"flux", "flux2"})
        EXPECT_EQ(reason_of([&] { make_schedule(name, request); }),
                  "this scheduler needs the size of the picture");
}

TEST(schedule, flux_refuses_sizes_whose_levels_coincide) {
    ScheduleRequest request = request_for(20);
    request.latent_width = request.latent_height = 1024;
    EXPECT_EQ(reason_of([&] { make_schedule("flux", request); }),
              "scheduler flux: noise level 2, 1, is not below the one before, 1");
}

TEST(schedule, unknown_and_unusable_schedulers_are_refused) {
    const std::string usable =
        " (use one of discrete, karras, exponential, sgm_uniform, simple, smoothstep, kl_optimal, "
        "lcm, bong_tangent, ltx2, logit_normal, flux2, flux, beta)";
    EXPECT_EQ(reason_of([] { schedule_of("linear", 8); }), "there is no scheduler \"linear\"" + usable);
    for (const std::string name : {"ays", "gits"})
        EXPECT_EQ(reason_of([&] { schedule_of(name, 8); }),
                  "scheduler \"" + name +
                      "\" is a table for the noise levels of Stable Diffusion, which this "
                      "model does not have" +
                      usable);
}

TEST(schedule, step_counts_out_of_range_are_refused) {
    EXPECT_EQ(reason_of([] { schedule_of("simple", 0); }), "steps: 0 is no number from 1 to 10000");
    EXPECT_EQ(reason_of([] { schedule_of("simple", -5); }), "steps: -5 is no number from 1 to 10000");
    EXPECT_EQ(reason_of([] { schedule_of("simple", 10001); }), "steps: 10001 is no number from 1 to 10000");
    EXPECT_EQ(schedule_of("discrete", 10000).size(), 10001u);
}

TEST(schedule, shifts_that_are_no_use_are_refused) {
    EXPECT_EQ(reason_of([] { Flow(11.0f); }), "flow shift 11 is no number from -10 to 10");
    EXPECT_EQ(reason_of([] { Flow(NAN); }), "flow shift nan is no number from -10 to 10");
    for (const float shift : {-10.0f, -3.0f, 0.0f, 10.0f})
        EXPECT_EQ(schedule_of("simple", 20, shift).size(), 21u) << shift;
}

TEST(schedule, the_shift_by_size_is_the_published_one) {
    EXPECT_FLOAT_EQ(flow_shift_for_tokens(32 * 32), 0.58125f);
    EXPECT_FLOAT_EQ(flow_shift_for_tokens(64 * 64), 0.90625f);
    EXPECT_FLOAT_EQ(flow_shift_for_tokens(80 * 80), 1.15f);
}

TEST(schedule, levels_can_be_given) {
    const Sigmas expected = {1.0f, 0.5f, 0.25f, 0.0f};
    EXPECT_EQ(parse_sigmas("1,0.5,0.25,0"), expected);
    EXPECT_EQ(parse_sigmas(" [1, 5e-1 ,.25,0 ] "), expected);
    const Sigmas open = {0.75f, 0.5f};
    EXPECT_EQ(parse_sigmas("0.75,0.5"), open);
}

TEST(schedule, given_levels_that_are_no_schedule_are_refused) {
    const auto reason = [](const char * text) { return reason_of([&] { parse_sigmas(text); }); };
    EXPECT_EQ(reason(""), "sigmas: \"\" is no number");
    EXPECT_EQ(reason("[]"), "sigmas: \"\" is no number");
    EXPECT_EQ(reason("["), "sigmas: \"[\" is no number");
    EXPECT_EQ(reason("1,half"), "sigmas: \"half\" is no number");
    EXPECT_EQ(reason("1,nan"), "sigmas: \"nan\" is no number");
    EXPECT_EQ(reason("1"), "sigmas: a schedule needs two noise levels at least");
    EXPECT_EQ(reason("14.6,1,0"), "sigmas: noise level 1, 14.6000004, is not from 0 to 1");
    EXPECT_EQ(reason("1,-0.5"), "sigmas: noise level 2, -0.5, is not from 0 to 1");
    EXPECT_EQ(reason("1,0.5,0.5,0"), "sigmas: noise level 3, 0.5, is not below the one before, 0.5");
    EXPECT_EQ(reason("0.5,1"), "sigmas: noise level 2, 1, is not below the one before, 0.5");
    std::string many = "1";
    for (int i = 0; i < 10001; ++i) many += ",0.5";
    EXPECT_EQ(reason(many.c_str()), "sigmas: there are more than 10001");
}

} // namespace
} // namespace sd::test
