#include "sampling/sampler.h"

#include "base/error.h"
#include "sampling/choices.h"
#include "sampling/methods.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

using enum NoiseUse;

constexpr SamplerInfo kSamplers[] = {
    {"euler", 1, never, 0, "discrete", nullptr, make_euler},
    {"euler_a", 1, always, 1, "discrete", nullptr, make_euler_a},
    {"heun", 2, never, 0, "discrete", nullptr, make_heun},
    {"dpm2", 2, never, 0, "discrete", nullptr, make_dpm2},
    {"dpm++2s_a", 2, always, 1, "discrete", nullptr, make_dpmpp_2s_a},
    {"dpm++2m", 1, never, 0, "discrete", nullptr, make_dpmpp_2m},
    {"dpm++2mv2", 1, never, 0, "discrete", nullptr, make_dpmpp_2m_v2},
    {"ipndm", 1, never, 0, "discrete", nullptr, make_ipndm},
    {"ipndm_v", 1, never, 0, "discrete", nullptr, make_ipndm_v},
    {"lcm", 1, always, 0, "lcm", nullptr, make_lcm},
    {"ddim_trailing", 1, with_eta, 0, "simple", nullptr, make_euler_a},
    {"tcd", 1, with_eta, 0, "lcm",
     "is written for the noise levels of Stable Diffusion, which this model does not have", nullptr},
    {"res_multistep", 1, with_eta, 0, "discrete", nullptr, make_res_multistep},
    {"res_2s", 2, with_eta, 0, "discrete", nullptr, make_res_2s},
    {"er_sde", 1, always, 1, "discrete", nullptr, make_er_sde},
    {"euler_cfg_pp", 1, never, 0, "discrete", nullptr, make_euler_cfg_pp},
    {"euler_a_cfg_pp", 1, always, 1, "discrete", nullptr, make_euler_cfg_pp},
    {"euler_ge", 1, with_eta, 0, "discrete", nullptr, make_euler_ge},
    {"dpm++2m_sde", 1, always, 1, "discrete", nullptr, make_dpmpp_2m_sde},
    {"dpm++2m_sde_bt", 1, always, 1, "discrete", nullptr, make_dpmpp_2m_sde_bt},
    {"lms", 1, never, 0, "discrete", nullptr, make_lms},
};

// Beyond, noise drowns the picture, and floats overflow in the end.
constexpr float kMostEta = 100.0f;

float checked_eta(std::optional<float> eta, const SamplerInfo & sampler) {
    if (!eta) return sampler.default_eta;
    if (*eta >= 0.0f && *eta <= kMostEta) return sampler.noise == never ? 0.0f : *eta;
    throw Error({"E_ETA", {}, {}, "eta " + std::to_string(*eta) + " is no number from 0 to 100", {}});
}

} // namespace

std::span<const SamplerInfo> samplers() { return kSamplers; }

std::vector<std::string> usable_samplers() {
    std::vector<std::string> names;
    for (const SamplerInfo & sampler : kSamplers)
        if (sampler.refusal == nullptr) names.push_back(sampler.name);
    return names;
}

const SamplerInfo & find_sampler(std::string_view name) {
    for (const SamplerInfo & sampler : kSamplers) {
        if (name != sampler.name) continue;
        if (sampler.refusal == nullptr) return sampler;
        refuse_choice("sampling method", name, sampler.refusal, usable_samplers());
    }
    refuse_choice("sampling method", name, {}, usable_samplers());
}

Sampler::Sampler(std::string_view name, std::optional<float> eta, const KeyValues & extra)
    : info_(&find_sampler(name)), eta_(checked_eta(eta, *info_)), method_(info_->make(eta_, extra)) {}

Sampler::~Sampler() = default;
Sampler::Sampler(Sampler &&) noexcept = default;
Sampler & Sampler::operator=(Sampler &&) noexcept = default;

bool Sampler::run(std::span<float> x, const Sigmas & sigmas, Rng & rng, const Denoise & denoise) {
    check_sigmas(sigmas, "sampling");
    method_->begin(x.size());
    for (size_t i = 0; i + 1 < sigmas.size(); ++i)
        if (!method_->step(SamplingStep(x, sigmas, i, info_->evaluations == 2, rng, denoise))) return false;
    return true;
}

void SamplingStep::add_noise(float keep, float up, Values & noise) const {
    if (!(up > 0.0f)) return;
    draw(noise);
    for (size_t k = 0; k < x.size(); ++k) x[k] = keep * x[k] + up * noise[k];
}

void SamplingStep::mix(float a, float b, const Values & d) const {
    for (size_t k = 0; k < x.size(); ++k) x[k] = a * x[k] + b * d[k];
}

Ancestral flow_ancestral(float s, float r, float eta) {
    const Ancestral plain = {r, 0.0f, 1.0f};
    if (!(eta > 0.0f) || s <= 0.0f || r <= 0.0f) return plain;
    eta = std::min(eta, 1.0f);
    const float down = std::clamp(r * (1.0f + (r / s - 1.0f) * eta), 0.0f, r);
    if (1.0f - down <= 0.0f) return plain;
    // keep brings the picture's share from 1 - down to 1 - r; noise adds what then is missing of the
    // variance.
    const float keep = (1.0f - r) / (1.0f - down);
    const float q = std::clamp(down / r * keep, -1.0f, 1.0f);
    return {down, r * std::sqrt(std::max(1.0f - q * q, 0.0f)), keep};
}

double phi1(double z) { return z == 0.0 ? 1.0 : std::expm1(z) / z; }

double phi2(double z) {
    // The difference below loses all digits near 0; six terms of the series are exact to 1e-16 there.
    if (std::fabs(z) < 0.01) {
        double term = 0.5, sum = term;
        for (int k = 3; k < 9; ++k) sum += term *= z / double(k);
        return sum;
    }
    return (phi1(z) - 1.0) / z;
}

} // namespace sd
