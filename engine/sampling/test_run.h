// Models with known answers and a generator that keeps count, for the tests of samplers.
#pragma once

#include "sampling/sampler.h"

#include <cmath>
#include <vector>

namespace sd::test {

// Pictures are normal around `mean` with `deviation` in each value; the best estimate and the path without
// noise are known. deviation 0: there is one picture.
struct GaussianModel {
    double mean = 0.7, deviation = 0.5;

    double spread(double sigma) const { return std::hypot((1.0 - sigma) * deviation, sigma); }

    double denoised(double x, double sigma) const {
        const double share = (1.0 - sigma) * deviation * deviation / (spread(sigma) * spread(sigma));
        return mean + share * (x - (1.0 - sigma) * mean);
    }

    // Where the path leads that is at x for the level `from`.
    double path(double x, double from, double to) const {
        return (1.0 - to) * mean + (x - (1.0 - from) * mean) * spread(to) / spread(from);
    }

    Denoise denoise() const {
        return [*this](const Evaluation & e) {
            for (size_t k = 0; k < e.n; ++k) {
                e.denoised[k] = float(denoised(double(e.x[k]), double(e.sigma)));
                if (e.uncond != nullptr) e.uncond[k] = e.denoised[k];
            }
            return true;
        };
    }
};

// Counts calls and numbers; draws from the real one.
class CountingRng final : public Rng {
  public:
    void seed(uint64_t seed) override { rng_->seed(seed); }
    void normal(float * out, size_t n) override {
        calls.push_back(n);
        rng_->normal(out, n);
    }

    std::vector<size_t> calls;

  private:
    std::unique_ptr<Rng> rng_ = make_rng(RngKind::cuda);
};

// n steps of equal length.
inline Sigmas even_steps(int n, double from, double to) {
    Sigmas sigmas;
    for (int i = 0; i <= n; ++i) sigmas.push_back(float(from + (to - from) * double(i) / double(n)));
    return sigmas;
}

struct SamplerRun {
    std::vector<float> x;
    std::vector<int> steps;    // the numbers the model was asked with
    std::vector<size_t> noise; // the calls for noise
    bool finished = false;
};

inline SamplerRun run_sampler(std::string_view name, std::vector<float> x, const Sigmas & sigmas,
                              const Denoise & denoise, std::optional<float> eta = {},
                              std::string_view extra = {}) {
    Sampler sampler(name, eta, KeyValues::parse(extra));
    CountingRng rng;
    SamplerRun run{std::move(x), {}, {}, false};
    const Denoise recording = [&](const Evaluation & e) {
        run.steps.push_back(e.step);
        return denoise(e);
    };
    run.finished = sampler.run(run.x, sigmas, rng, recording);
    run.noise = rng.calls;
    return run;
}

inline std::string reason_of(const std::function<void()> & call) {
    try {
        call();
    } catch (const std::exception & e) {
        return e.what();
    }
    return "";
}

} // namespace sd::test
