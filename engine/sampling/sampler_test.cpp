// What holds for every sampling method: order, end, progress, refusals.

#include "sampling/sampler.h"
#include "sampling/test_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace sd::test {
namespace {

const Sigmas kSteps = {1.0f, 0.9f, 0.7f, 0.5f, 0.3f, 0.1f, 0.0f};

// The largest error of the method at level 0.2, starting from 0.95 with n steps.
double error_of(const char * name, int n, std::optional<float> eta, const char * extra) {
    const GaussianModel model;
    std::vector<float> x = {-1.3f, 0.2f, 0.9f, 2.0f};
    const std::vector<float> start = x;
    const SamplerRun run = run_sampler(name, x, even_steps(n, 0.95, 0.2), model.denoise(), eta, extra);
    double error = 0.0;
    for (size_t k = 0; k < x.size(); ++k)
        error = std::max(error, std::fabs(double(run.x[k]) - model.path(double(start[k]), 0.95, 0.2)));
    return error;
}

TEST(sampler, methods_without_noise_converge_to_the_path_with_their_order) {
    struct Case {
        const char * name;
        double order;
        std::optional<float> eta;
        const char * extra;
    };
    // Methods that begin with a step of Euler have its local error once: order 2, whatever comes later.
    const Case cases[] = {
        {"euler", 1, {}, ""},
        {"euler_a", 1, 0.0f, ""},
        {"ddim_trailing", 1, {}, ""},
        {"euler_cfg_pp", 1, {}, ""},
        {"euler_a_cfg_pp", 1, 0.0f, ""},
        {"euler_ge", 1, {}, ""},
        {"euler_ge", 2, {}, "gamma=1.5"},
        {"heun", 2, {}, ""},
        {"dpm2", 2, {}, ""},
        {"dpm++2s_a", 2, 0.0f, ""},
        {"dpm++2m", 2, {}, ""},
        {"dpm++2m_sde", 2, 0.0f, ""},
        {"dpm++2mv2", 1, {}, ""},
        {"ipndm", 2, {}, ""},
        {"ipndm_v", 2, {}, ""},
        {"res_multistep", 2, {}, ""},
        {"res_2s", 2, {}, ""},
        {"lms", 2, {}, "lms_shift=0"},
        {"lms", 1, {}, "lms_max_order=1"},
        {"lms", 1, {}, ""},
    };
    for (const Case & c : cases) {
        SCOPED_TRACE(std::string(c.name) + " " + c.extra);
        const double coarse = error_of(c.name, 20, c.eta, c.extra),
                     fine = error_of(c.name, 40, c.eta, c.extra);
        EXPECT_LT(fine, 0.05);
        EXPECT_GT(fine, 2e-6) << "below what floats resolve: the order cannot be seen";
        EXPECT_NEAR(std::log2(coarse / fine), c.order, 0.35);
    }
}

TEST(sampler, euler_is_what_the_hand_computes) {
    const Denoise half = [](const Evaluation & e) {
        for (size_t k = 0; k < e.n; ++k) e.denoised[k] = 0.5f * e.x[k];
        return true;
    };
    // d = (x - x/2)/s; 1 -> 0.5: 8 - 4 * 0.5 = 6; 0.5 -> 0.25: 6 - 6 * 0.25 = 4.5; 0.25 -> 0: the estimate
    const SamplerRun run = run_sampler("euler", {8.0f, -8.0f}, {1.0f, 0.5f, 0.25f, 0.0f}, half);
    const std::vector<float> expected = {2.25f, -2.25f};
    EXPECT_EQ(run.x, expected);
    const SamplerRun open = run_sampler("euler", {8.0f, -8.0f}, {1.0f, 0.5f, 0.25f}, half);
    const std::vector<float> before = {4.5f, -4.5f};
    EXPECT_EQ(open.x, before);
}

TEST(sampler, heun_and_dpm2_are_what_the_hand_computes) {
    const Denoise half = [](const Evaluation & e) {
        for (size_t k = 0; k < e.n; ++k) e.denoised[k] = 0.5f * e.x[k];
        return true;
    };
    // d = 4 at 1; at 0.25 x2 = 8 - 3 = 5, d2 = 2.5/0.25 = 10; 8 - 7 * 0.75 = 2.75
    EXPECT_EQ(run_sampler("heun", {8.0f}, {1.0f, 0.25f}, half).x[0], 2.75f);
    // middle 0.5: x2 = 8 - 2 = 6, d2 = 3/0.5 = 6; 8 - 6 * 0.75 = 3.5
    EXPECT_EQ(run_sampler("dpm2", {8.0f}, {1.0f, 0.25f}, half).x[0], 3.5f);
}

TEST(sampler, cfg_pp_takes_the_noise_from_the_estimate_without_guidance) {
    const Denoise two = [](const Evaluation & e) {
        e.denoised[0] = 3.0f;
        e.uncond[0] = 1.0f;
        return true;
    };
    // 3 + (5 - 1)/1 * 0.5
    EXPECT_EQ(run_sampler("euler_cfg_pp", {5.0f}, {1.0f, 0.5f}, two).x[0], 5.0f);
    EXPECT_EQ(run_sampler("euler_cfg_pp", {5.0f}, {1.0f, 0.0f}, two).x[0], 3.0f);
}

TEST(sampler, only_cfg_pp_asks_for_the_estimate_without_guidance) {
    for (const std::string & name : usable_samplers()) {
        const GaussianModel model;
        bool asked = false;
        run_sampler(name, {1.0f}, kSteps, [&](const Evaluation & e) {
            asked = asked || e.uncond != nullptr;
            return model.denoise()(e);
        });
        EXPECT_EQ(asked, name == "euler_cfg_pp" || name == "euler_a_cfg_pp") << name;
    }
}

TEST(sampler, every_method_ends_at_the_last_estimate) {
    for (const std::string & name : usable_samplers()) {
        std::vector<float> last(3);
        const SamplerRun run = run_sampler(name, {0.3f, -2.0f, 1.5f}, kSteps, [&](const Evaluation & e) {
            for (size_t k = 0; k < e.n; ++k) e.denoised[k] = last[k] = 0.3f * e.x[k] + 0.1f * float(e.step);
            if (e.uncond != nullptr) std::fill(e.uncond, e.uncond + e.n, 0.25f);
            return true;
        });
        EXPECT_TRUE(run.finished);
        // euler arrives there by its formula, x - (x - d)/s * s
        for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(run.x[k], last[k], name == "euler" ? 3e-7f : 0.0f) << name;
    }
}

TEST(sampler, steps_are_numbered_from_1_and_first_evaluations_of_two_are_negative) {
    const std::vector<int> one = {1, 2, 3, 4, 5, 6};
    const std::vector<int> two = {-1, 1, -2, 2, -3, 3, -4, 4, -5, 5, -6};
    // At level 1 there is no way to half of the signal to noise ratio.
    const std::vector<int> two_s = {-1, -2, 2, -3, 3, -4, 4, -5, 5, -6};
    for (const std::string & name : usable_samplers()) {
        const SamplerRun run = run_sampler(name, {1.0f}, kSteps, GaussianModel().denoise());
        const bool doubled = find_sampler(name).evaluations == 2;
        EXPECT_EQ(run.steps, name == "dpm++2s_a" ? two_s : doubled ? two : one) << name;
        EXPECT_TRUE(ends_step(run.steps.back(), 6)) << name;
        EXPECT_EQ(std::count_if(run.steps.begin(), run.steps.end(), [](int n) { return ends_step(n, 6); }),
                  name == "dpm++2s_a" ? 5 : 6)
            << name;
    }
    const std::vector<int> open = {-1, 1, -2, 2};
    EXPECT_EQ(run_sampler("heun", {1.0f}, {0.9f, 0.5f, 0.2f}, GaussianModel().denoise()).steps, open);
}

TEST(sampler, a_model_that_says_stop_is_not_asked_again) {
    for (const std::string & name : usable_samplers()) {
        for (size_t stop = 1; stop <= 6; ++stop) {
            size_t asked = 0;
            const SamplerRun run = run_sampler(name, {1.0f}, kSteps, [&](const Evaluation & e) {
                GaussianModel().denoise()(e);
                return ++asked < stop;
            });
            EXPECT_FALSE(run.finished) << name;
            EXPECT_EQ(asked, stop) << name;
        }
    }
}

TEST(sampler, values_that_are_no_numbers_stay_where_they_are) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const std::string & name : usable_samplers()) {
        const std::vector<float> start = {0.5f, -1.0f, 2.0f, 0.1f};
        const SamplerRun good = run_sampler(name, start, kSteps, GaussianModel().denoise());
        const SamplerRun bad = run_sampler(name, start, kSteps, [&](const Evaluation & e) {
            GaussianModel().denoise()(e);
            e.denoised[2] = nan;
            return true;
        });
        EXPECT_TRUE(bad.finished);
        for (size_t k = 0; k < start.size(); ++k) {
            if (k == 2)
                EXPECT_TRUE(std::isnan(bad.x[k])) << name;
            else
                EXPECT_EQ(bad.x[k], good.x[k]) << name << ", value " << k;
        }
    }
}

TEST(sampler, a_second_run_begins_anew) {
    for (const std::string & name : usable_samplers()) {
        Sampler sampler(name, {}, {});
        std::vector<std::vector<float>> results;
        for (const size_t n : {4u, 7u, 4u}) {
            std::vector<float> x(n, 0.8f);
            CountingRng rng;
            ASSERT_TRUE(sampler.run(x, kSteps, rng, GaussianModel().denoise()));
            results.push_back(x);
        }
        EXPECT_EQ(results[0], results[2]) << name;
    }
}

TEST(sampler, one_step_and_no_values_are_possible) {
    for (const std::string & name : usable_samplers()) {
        const SamplerRun one = run_sampler(name, {0.5f}, {1.0f, 0.0f}, GaussianModel().denoise());
        EXPECT_NEAR(one.x[0], 0.7f, 1e-6f) << name; // the mean is all that can be known at level 1
        EXPECT_EQ(one.steps.size(), 1u) << name;
        EXPECT_TRUE(run_sampler(name, {}, kSteps, GaussianModel().denoise()).finished) << name;
    }
}

TEST(sampler, every_scheduler_suits_every_method) {
    for (const std::string & name : usable_samplers()) {
        for (const std::string & scheduler : usable_schedulers()) {
            for (const int steps : {1, 2, 3, 9}) {
                ScheduleRequest request;
                request.steps = steps, request.latent_width = request.latent_height = 64;
                const SamplerRun run = run_sampler(name, {0.5f, -1.0f}, make_schedule(scheduler, request),
                                                   GaussianModel().denoise());
                EXPECT_TRUE(std::isfinite(run.x[0]) && std::isfinite(run.x[1])) << name << ", " << scheduler;
                EXPECT_LT(std::fabs(run.x[0]), 10.0f) << name << ", " << scheduler;
            }
        }
    }
}

TEST(sampler, the_table_is_what_the_documentation_says) {
    std::string all;
    for (const SamplerInfo & s : samplers()) {
        all += std::string(s.name) + " " + std::to_string(s.evaluations) + " " + "-e+"[int(s.noise)] + " " +
               std::to_string(int(s.default_eta)) + " " + s.scheduler +
               (s.refusal != nullptr ? " refused\n" : "\n");
        EXPECT_NO_THROW(find_scheduler(s.scheduler));
    }
    EXPECT_EQ(all, "euler 1 - 0 discrete\n"
                   "euler_a 1 + 1 discrete\n"
                   "heun 2 - 0 discrete\n"
                   "dpm2 2 - 0 discrete\n"
                   "dpm++2s_a 2 + 1 discrete\n"
                   "dpm++2m 1 - 0 discrete\n"
                   "dpm++2mv2 1 - 0 discrete\n"
                   "ipndm 1 - 0 discrete\n"
                   "ipndm_v 1 - 0 discrete\n"
                   "lcm 1 + 0 lcm\n"
                   "ddim_trailing 1 e 0 simple\n"
                   "tcd 1 e 0 lcm refused\n"
                   "res_multistep 1 e 0 discrete\n"
                   "res_2s 2 e 0 discrete\n"
                   "er_sde 1 + 1 discrete\n"
                   "euler_cfg_pp 1 - 0 discrete\n"
                   "euler_a_cfg_pp 1 + 1 discrete\n"
                   "euler_ge 1 e 0 discrete\n"
                   "dpm++2m_sde 1 + 1 discrete\n"
                   "dpm++2m_sde_bt 1 + 1 discrete\n"
                   "lms 1 - 0 discrete\n");
}

TEST(sampler, unknown_and_unusable_methods_are_refused) {
    const std::string usable =
        " (use one of euler, euler_a, heun, dpm2, dpm++2s_a, dpm++2m, dpm++2mv2, ipndm, "
        "ipndm_v, lcm, ddim_trailing, res_multistep, res_2s, er_sde, euler_cfg_pp, "
        "euler_a_cfg_pp, euler_ge, dpm++2m_sde, dpm++2m_sde_bt, lms)";
    EXPECT_EQ(reason_of([] { Sampler("unipc", {}, {}); }), "there is no sampling method \"unipc\"" + usable);
    EXPECT_EQ(
        reason_of([] { Sampler("tcd", {}, {}); }),
        "sampling method \"tcd\" is written for the noise levels of Stable Diffusion, which this model does "
        "not have" +
            usable);
}

TEST(sampler, settings_out_of_range_are_refused_before_anything_runs) {
    EXPECT_EQ(reason_of([] { Sampler("euler_a", -1.0f, {}); }), "eta -1.000000 is no number from 0 to 100");
    EXPECT_EQ(reason_of([] { Sampler("euler", NAN, {}); }), "eta nan is no number from 0 to 100");
    EXPECT_EQ(reason_of([] { Sampler("lms", {}, KeyValues::parse("lms_max_order=5")); }),
              "sample argument lms_max_order: \"5\" is no whole number from 1 to 4");
    EXPECT_EQ(reason_of([] { Sampler("lcm", {}, KeyValues::parse("noise_clip_std=x")); }),
              "sample argument noise_clip_std: \"x\" is no number from 0 to 100");
    EXPECT_EQ(reason_of([] {
                  run_sampler("euler", {1.0f}, {0.5f, 0.5f}, GaussianModel().denoise());
              }),
              "sampling: noise level 2, 0.5, is not below the one before, 0.5");
}

} // namespace
} // namespace sd::test
