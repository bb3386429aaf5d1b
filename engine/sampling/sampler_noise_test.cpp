// Methods that draw noise: how much, when, and when none.

#include "sampling/methods.h"
#include "sampling/test_run.h"

#include <gtest/gtest.h>

namespace sd::test {
namespace {

const Sigmas kSteps = {1.0f, 0.9f, 0.7f, 0.5f, 0.3f, 0.1f, 0.0f};

struct Moments {
    double mean, deviation;
};

Moments moments_of(const std::vector<float> & x) {
    double sum = 0.0, squares = 0.0;
    for (const float v : x) sum += double(v), squares += double(v) * double(v);
    const double n = double(x.size()), mean = sum / n;
    return {mean, std::sqrt(squares / n - mean * mean)};
}

// Many values at level sigmas[0], as the model has them.
std::vector<float> start_of(const GaussianModel & model, float sigma) {
    std::vector<float> x(20000);
    const std::unique_ptr<Rng> rng = make_rng(RngKind::cpu);
    rng->seed(1);
    rng->normal(x.data(), x.size());
    for (float & v : x)
        v = float((1.0 - double(sigma)) * model.mean + model.spread(double(sigma)) * double(v));
    return x;
}

TEST(sampler_noise, the_flow_step_keeps_picture_and_variance) {
    for (const float s : {1.0f, 0.9f, 0.4f}) {
        for (const float r : {0.35f, 0.1f, 0.01f}) {
            for (const float eta : {0.3f, 1.0f}) {
                const Ancestral a = flow_ancestral(s, r, eta);
                EXPECT_LT(a.down, r);
                EXPECT_NEAR(a.keep * (1.0f - a.down), 1.0f - r, 1e-6f);
                EXPECT_NEAR(std::hypot(a.keep * a.down, a.up), r, 1e-6f);
            }
        }
    }
}

TEST(sampler_noise, the_flow_step_is_plain_without_eta_and_eta_ends_at_1) {
    for (const auto & [s, r, eta] : {std::tuple(0.9f, 0.5f, 0.0f), std::tuple(0.9f, 0.0f, 1.0f)}) {
        const Ancestral a = flow_ancestral(s, r, eta);
        EXPECT_EQ(a.down, r);
        EXPECT_EQ(a.up, 0.0f);
        EXPECT_EQ(a.keep, 1.0f);
    }
    EXPECT_EQ(flow_ancestral(0.9f, 0.5f, 7.0f).up, flow_ancestral(0.9f, 0.5f, 1.0f).up);
}

// With one possible picture the distribution at each level is known: (1 - sigma) picture, deviation sigma.
TEST(sampler_noise, noise_has_the_variance_of_its_level) {
    const GaussianModel one_picture{0.7, 0.0};
    for (const char * name :
         {"euler_a", "dpm++2s_a", "lcm", "ddim_trailing", "res_multistep", "res_2s", "er_sde"}) {
        const Sigmas sigmas = {0.9f, 0.7f, 0.45f, 0.3f};
        const SamplerRun run =
            run_sampler(name, start_of(one_picture, 0.9f), sigmas, one_picture.denoise(),
                        std::string_view(name) == "lcm" ? std::nullopt : std::optional<float>(1.0f));
        const Moments m = moments_of(run.x);
        EXPECT_NEAR(m.mean, 0.7 * 0.7, 0.01) << name;
        EXPECT_NEAR(m.deviation, 0.3, 0.01) << name;
        EXPECT_EQ(run.noise, std::vector<size_t>(3, 20000)) << name;
    }
}

TEST(sampler_noise, one_step_of_gradient_estimation_has_it_too) {
    const GaussianModel one_picture{0.7, 0.0};
    const SamplerRun run =
        run_sampler("euler_ge", start_of(one_picture, 0.9f), {0.9f, 0.3f}, one_picture.denoise(), 1.0f);
    EXPECT_NEAR(moments_of(run.x).mean, 0.49, 0.01);
    EXPECT_NEAR(moments_of(run.x).deviation, 0.3, 0.01);
}

TEST(sampler_noise, methods_that_do_not_fade_the_picture_have_it_around_0) {
    const GaussianModel nothing{0.0, 0.0};
    for (const char * name : {"dpm++2m_sde", "dpm++2m_sde_bt", "euler_a_cfg_pp"}) {
        const SamplerRun run =
            run_sampler(name, start_of(nothing, 0.9f), {0.9f, 0.7f, 0.45f, 0.3f}, nothing.denoise(), 1.0f);
        EXPECT_NEAR(moments_of(run.x).mean, 0.0, 0.01) << name;
        EXPECT_NEAR(moments_of(run.x).deviation, 0.3, 0.01) << name;
    }
}

TEST(sampler_noise, stochastic_methods_reach_the_distribution_of_pictures_with_many_steps) {
    const GaussianModel model;
    for (const char * name : {"euler_a", "dpm++2s_a", "res_2s", "er_sde"}) {
        const SamplerRun run =
            run_sampler(name, start_of(model, 0.95f), even_steps(100, 0.95, 0.02), model.denoise(), 1.0f);
        EXPECT_NEAR(moments_of(run.x).mean, 0.7 * 0.98, 0.02) << name;
        EXPECT_NEAR(moments_of(run.x).deviation, model.spread(0.02), 0.02) << name;
    }
}

TEST(sampler_noise, without_eta_methods_are_their_counterparts_and_draw_nothing) {
    const std::vector<std::pair<const char *, const char *>> counterparts = {
        {"euler_a", "euler"},      {"ddim_trailing", "euler"}, {"euler_a_cfg_pp", "euler_cfg_pp"},
        {"euler_cfg_pp", "euler"}, {"dpm++2m_sde", "dpm++2m"}, {"dpm++2m_sde_bt", "dpm++2m"},
    };
    const std::vector<float> start = {0.3f, -1.2f, 2.0f};
    for (const auto & [name, plain] : counterparts) {
        const SamplerRun run =
            run_sampler(name, start, {1.0f, 0.8f, 0.3f, 0.1f}, GaussianModel().denoise(), 0.0f);
        const SamplerRun expected =
            run_sampler(plain, start, {1.0f, 0.8f, 0.3f, 0.1f}, GaussianModel().denoise());
        EXPECT_TRUE(run.noise.empty()) << name;
        for (size_t k = 0; k < start.size(); ++k) EXPECT_NEAR(run.x[k], expected.x[k], 2e-6f) << name;
    }
    for (const SamplerInfo & info : samplers()) {
        if (info.refusal != nullptr || std::string_view(info.name) == "lcm") continue;
        EXPECT_TRUE(run_sampler(info.name, start, kSteps, GaussianModel().denoise(), 0.0f).noise.empty())
            << info.name;
    }
}

// Without noise er_sde follows the mean of its equation, whose solution is taken from very many steps.
TEST(sampler_noise, er_sde_converges_faster_than_its_first_order_part) {
    const auto end = [](int steps) {
        const SamplerRun run =
            run_sampler("er_sde", {1.5f}, even_steps(steps, 0.9, 0.2), GaussianModel().denoise(), 0.0f);
        return double(run.x[0]);
    };
    const double exact = end(1000), coarse = std::fabs(end(10) - exact), fine = std::fabs(end(20) - exact);
    EXPECT_LT(coarse, 0.05);
    EXPECT_GT(fine, 1e-5) << "below what floats resolve: the order cannot be seen";
    EXPECT_GT(std::log2(coarse / fine), 1.6);
}

TEST(sampler_noise, gradient_estimation_with_gamma_1_is_euler) {
    const SamplerRun run = run_sampler("euler_ge", {0.3f}, kSteps, GaussianModel().denoise(), {}, "gamma=1");
    EXPECT_NEAR(run.x[0], run_sampler("euler", {0.3f}, kSteps, GaussianModel().denoise()).x[0], 1e-6f);
}

TEST(sampler_noise, methods_draw_once_per_step_and_not_in_the_last) {
    for (const SamplerInfo & info : samplers()) {
        if (info.refusal != nullptr) continue;
        const std::string_view name = info.name;
        const std::vector<size_t> calls =
            run_sampler(name, {1.0f, 2.0f, 3.0f}, kSteps, GaussianModel().denoise()).noise;
        std::vector<size_t> expected;
        if (info.noise == NoiseUse::always) expected.assign(5, 3);
        if (name == "dpm++2m_sde_bt") expected = {2}; // the seed of its paths
        EXPECT_EQ(calls, expected) << name;
        if (info.noise != NoiseUse::with_eta) continue;
        EXPECT_EQ(run_sampler(name, {1.0f, 2.0f, 3.0f}, kSteps, GaussianModel().denoise(), 0.5f).noise,
                  std::vector<size_t>(5, 3))
            << name;
    }
}

TEST(sampler_noise, a_single_step_draws_nothing) {
    for (const std::string & name : usable_samplers())
        EXPECT_TRUE(run_sampler(name, {1.0f}, {1.0f, 0.0f}, GaussianModel().denoise()).noise.empty()) << name;
}

TEST(sampler_noise, lcm_scales_and_cuts_its_noise) {
    const GaussianModel nothing{0.0, 0.0};
    const std::vector<float> start(20000, 1.0f);
    const auto deviation = [&](const char * extra, int steps) {
        return moments_of(
                   run_sampler("lcm", start, even_steps(steps, 1.0, 0.5), nothing.denoise(), {}, extra).x)
            .deviation;
    };
    EXPECT_NEAR(deviation("", 2), 0.5, 0.01);
    EXPECT_NEAR(deviation("noise_scale_start=0.5", 2), 0.25, 0.01);
    EXPECT_NEAR(deviation("noise_scale_start=0.5", 1), 0.25, 0.01);
    EXPECT_NEAR(deviation("noise_scale_end=0.4", 2), 0.2, 0.01);
    EXPECT_EQ(run_sampler("lcm", start, kSteps, nothing.denoise(), {}, "noise_scale_start=0").noise.size(),
              0u);
    const SamplerRun cut = run_sampler("lcm", start, {1.0f, 0.5f}, nothing.denoise(), {}, "noise_clip_std=1");
    for (const float v : cut.x) ASSERT_LE(std::fabs(v), 0.51f);
    EXPECT_LT(moments_of(cut.x).deviation, 0.4);
}

TEST(sampler_noise, brownian_noise_makes_step_counts_agree) {
    // With one picture the end of the path is all noise of the last level: the same path, seen in few and in
    // many places, must give similar values, and independent noise must not.
    const GaussianModel nothing{0.0, 0.0};
    const auto distance = [&](const char * name) {
        const std::vector<float> start(2000, 0.0f);
        const SamplerRun few = run_sampler(name, start, even_steps(20, 0.9, 0.5), nothing.denoise());
        const SamplerRun many = run_sampler(name, start, even_steps(40, 0.9, 0.5), nothing.denoise());
        double sum = 0.0;
        for (size_t k = 0; k < start.size(); ++k) sum += std::pow(double(few.x[k]) - double(many.x[k]), 2.0);
        return std::sqrt(sum / 2000.0);
    };
    EXPECT_LT(distance("dpm++2m_sde_bt"), 0.1);
    EXPECT_GT(distance("dpm++2m_sde"), 0.3);
}

} // namespace
} // namespace sd::test
