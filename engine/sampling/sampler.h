// From noise to picture: methods that follow a model's denoised estimates down a schedule of noise levels.
// Plain float arithmetic in a fixed order: the same estimates give the same picture to the bit.
#pragma once

#include "sampling/key_values.h"
#include "sampling/rng.h"
#include "sampling/schedule.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

class SamplingMethod; // methods.h

// Whether a method draws noise beside the initial one.
enum class NoiseUse { never, with_eta, always };

struct SamplerInfo {
    const char * name;
    int evaluations; // of the model per step; steps that need fewer make fewer
    NoiseUse noise;
    float default_eta;      // 0 where eta has no meaning
    const char * scheduler; // the one used when none is asked for
    const char * refusal;   // why flow models cannot use it; null: they can
    std::unique_ptr<SamplingMethod> (*make)(float eta, const KeyValues & extra);
};

// All methods, the refused ones too; the first is the default.
std::span<const SamplerInfo> samplers();
std::vector<std::string> usable_samplers();

// Throws Error for what is unknown or refused, listing the usable ones.
const SamplerInfo & find_sampler(std::string_view name);

// One question to the model: the estimate of the picture behind x, which has n values and noise level sigma.
struct Evaluation {
    const float * x;
    size_t n;
    float sigma;
    // Counted from 1. Methods of two evaluations per step give -step for the first and step for the second.
    int step;
    float * denoised; // to be written
    // Where not null: to be written with the estimate without guidance by the prompt (the unconditional one),
    // or with a copy of the conditional one where there is no other.
    float * uncond;
};

// Returns false to stop.
using Denoise = std::function<bool(const Evaluation &)>;

// Whether this evaluation is the last of its step as far as progress is concerned. In the last step the first
// evaluation is usually the only one, and counts.
inline bool ends_step(int step, int steps) { return step > 0 || step == -steps; }

// Used by one thread at a time; run may be called again for the next picture.
class Sampler {
  public:
    // eta: nothing for the method's own. Methods without noise ignore it, those of NoiseUse::always draw none
    // when it is 0 (lcm has no eta). Throws Error.
    Sampler(std::string_view name, std::optional<float> eta, const KeyValues & extra);
    ~Sampler();
    Sampler(Sampler &&) noexcept;
    Sampler & operator=(Sampler &&) noexcept;

    const SamplerInfo & info() const { return *info_; }
    float eta() const { return eta_; }

    // x: at level sigmas[0] before, at the last one after. Noise is drawn from rng in step order, x.size()
    // numbers per call, and only where it has an effect. Values that are no numbers are passed on. Returns
    // false when denoise did; x is then somewhere between. Throws Error for what is no schedule.
    bool run(std::span<float> x, const Sigmas & sigmas, Rng & rng, const Denoise & denoise);

  private:
    const SamplerInfo * info_;
    float eta_;
    std::unique_ptr<SamplingMethod> method_;
};

} // namespace sd
