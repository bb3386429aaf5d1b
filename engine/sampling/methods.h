// What the sampling methods have in common; for the files methods_*.cpp and sampler.cpp.
#pragma once

#include "sampling/sampler.h"

#include <algorithm>

namespace sd {

using Values = std::vector<float>; // as many as the latent image has

// One step under way, from level s to level r.
class SamplingStep {
  public:
    SamplingStep(std::span<float> x, const Sigmas & sigmas, size_t i, bool two, Rng & rng,
                 const Denoise & denoise)
        : x(x), sigmas(sigmas), i(i), s(sigmas[i]), r(sigmas[i + 1]), two_(two), rng_(rng),
          denoise_(denoise) {}

    std::span<float> x;
    const Sigmas & sigmas;
    const size_t i;
    const float s, r;

    bool first() const { return i == 0; }
    float before() const { return sigmas[i - 1]; }
    size_t steps() const { return sigmas.size() - 1; }

    // The estimate at x and s; false: stop.
    bool evaluate(Values & denoised, Values * uncond = nullptr) const {
        const int number = int(i) + 1;
        return ask(x.data(), s, two_ ? -number : number, denoised, uncond);
    }

    // The second estimate of the step, elsewhere.
    bool evaluate_at(const Values & at, float sigma, Values & denoised) const {
        return ask(at.data(), sigma, int(i) + 1, denoised, nullptr);
    }

    void draw(Values & noise) const { rng_.normal(noise.data(), noise.size()); }

    // x = keep x + up N. Nothing is drawn for up = 0.
    void add_noise(float keep, float up, Values & noise) const;

    // x = a x + b d
    void mix(float a, float b, const Values & d) const;

    // Estimate reached: the step to level 0.
    void finish(const Values & denoised) const { std::copy(denoised.begin(), denoised.end(), x.begin()); }

    Rng & rng() const { return rng_; }

  private:
    bool ask(const float * at, float sigma, int number, Values & denoised, Values * uncond) const {
        return denoise_(
            {at, x.size(), sigma, number, denoised.data(), uncond != nullptr ? uncond->data() : nullptr});
    }

    bool two_;
    Rng & rng_;
    const Denoise & denoise_;
};

// Memory is taken in begin, for the whole run.
class SamplingMethod {
  public:
    virtual ~SamplingMethod() = default;
    virtual void begin(size_t n) = 0;                 // forgets earlier runs
    virtual bool step(const SamplingStep & step) = 0; // false: stopped
};

// A step of a flow that goes further down than r and comes back up by noise, so that the variance is right.
struct Ancestral {
    float down; // level reached without noise
    float up;   // factor of the noise
    float keep; // factor of what was there
};
Ancestral flow_ancestral(float s, float r, float eta);

// (e^z - 1)/z and (phi1(z) - 1)/z, also near 0
double phi1(double z);
double phi2(double z);

using MakeMethod = std::unique_ptr<SamplingMethod>(float eta, const KeyValues & extra);

// methods_single.cpp: look at one step only
MakeMethod make_euler, make_euler_a, make_heun, make_dpm2, make_dpmpp_2s_a, make_lcm, make_res_2s,
    make_euler_cfg_pp;
// methods_multistep.cpp: use what earlier steps found
MakeMethod make_dpmpp_2m, make_dpmpp_2m_v2, make_ipndm, make_ipndm_v, make_lms, make_euler_ge,
    make_res_multistep;
// methods_sde.cpp: stochastic equations
MakeMethod make_er_sde, make_dpmpp_2m_sde, make_dpmpp_2m_sde_bt;

} // namespace sd
