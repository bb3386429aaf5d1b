// Every method on one uneven schedule, against values computed in double precision from the published
// formulas by another program.

#include "sampling/methods.h"
#include "sampling/test_run.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sd::test {
namespace {

// Noise whose effect can be computed by hand.
class ConstantRng final : public Rng {
  public:
    void seed(uint64_t) override {}
    void normal(float * out, size_t n) override { std::fill(out, out + n, 0.5f); }
};

bool estimate(const Evaluation & e) {
    const double s = double(e.sigma);
    for (size_t k = 0; k < e.n; ++k) {
        const double denoised = 0.5 * (1.0 - s * s) * double(e.x[k]) + 0.3 - 0.2 * s;
        e.denoised[k] = float(denoised);
        if (e.uncond != nullptr) e.uncond[k] = float(0.8 * denoised);
    }
    return true;
}

TEST(sampler_formula, every_method_has_the_values_of_its_formula) {
    struct Case {
        const char * name;
        float eta;
        float end;
        const char * extra = "";
    };
    const Case cases[] = {
        {"euler", 0, 0.5997328f},
        {"euler_a", 1, 0.5442939f},
        {"euler_a", 0.4f, 0.6370384f},
        {"heun", 0, 0.6465457f},
        {"dpm2", 0, 0.6496907f},
        {"dpm++2s_a", 1, 0.5873081f},
        {"dpm++2s_a", 0.4f, 0.6697821f},
        {"dpm++2m", 0, 0.6837726f},
        {"dpm++2mv2", 0, 0.6350485f},
        {"ipndm", 0, 0.6209936f},
        {"ipndm_v", 0, 0.6301479f},
        {"lcm", 0, 0.4698186f},
        {"ddim_trailing", 0.4f, 0.6370384f},
        {"res_multistep", 0, 0.6942584f},
        {"res_multistep", 0.4f, 0.7415872f},
        {"res_2s", 0, 0.6406549f},
        {"res_2s", 0.4f, 0.6775837f},
        {"er_sde", 0, 0.4825730f},
        {"er_sde", 1, 0.6773998f},
        {"euler_cfg_pp", 0, 0.7894659f},
        {"euler_a_cfg_pp", 1, 0.7859221f},
        {"euler_a_cfg_pp", 0.4f, 0.8853413f},
        {"euler_ge", 0, 0.6606860f},
        {"euler_ge", 0.4f, 0.6846615f},
        {"dpm++2m_sde", 1, 0.8097178f},
        {"dpm++2m_sde", 0.4f, 0.8351563f},
        {"lms", 0, 0.5888150f},
        {"lms", 0, 0.6453251f, "lms_shift=0"},
    };
    for (const Case & c : cases) {
        Sampler sampler(c.name, c.eta, KeyValues::parse(c.extra));
        std::vector<float> x = {1.25f};
        ConstantRng rng;
        ASSERT_TRUE(sampler.run(x, {0.95f, 0.8f, 0.55f, 0.4f, 0.15f, 0.1f}, rng, estimate));
        EXPECT_NEAR(x[0], c.end, 2e-6f) << c.name << ", eta " << c.eta << " " << c.extra;
    }
}

TEST(sampler_formula, phi_functions_are_their_series_near_0) {
    for (const double z : {0.0, 1e-8, -0.0099, 0.0099, -0.0101, 0.0101, -0.05}) {
        double first = 0.0, second = 0.0, power = 1.0, factorial = 1.0;
        for (int k = 0; k < 12; ++k) {
            factorial *= double(k + 1); // (k + 1)!
            first += power / factorial;
            second += power / (factorial * double(k + 2));
            power *= z;
        }
        EXPECT_NEAR(phi1(z), first, 1e-15) << z;
        EXPECT_NEAR(phi2(z), second, 3e-14) << z;
    }
}

} // namespace
} // namespace sd::test
