// Methods that solve a stochastic equation.

#include "sampling/brownian.h"
#include "sampling/methods.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace sd {
namespace {

// Extended reverse-time equation, up to third order in lambda = sigma / (1 - sigma). The integrals of the
// higher terms are sums of 200 parts.
class ErSde final : public SamplingMethod {
  public:
    ErSde(float eta, const KeyValues &) : with_noise_(eta > 0.0f) {}
    void begin(size_t n) override { d_ = before_ = slope_ = slope_before_ = noise_ = Values(n); }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        if (t.r == 0.0f) return t.finish(d_), true;
        const double ls = lambda(t.s), lt = lambda(t.r), keep = alpha(t.r), ratio = scale(lt) / scale(ls);
        t.mix(float(keep / alpha(t.s) * ratio), float(keep * (1.0 - ratio)), d_);
        if (!t.first()) higher_orders(t, ls, lt);
        const double variance = std::max(lt * lt - ls * ls * ratio * ratio, 0.0);
        if (with_noise_) t.add_noise(1.0f, float(keep * std::sqrt(variance)), noise_);
        std::swap(d_, before_);
        return true;
    }

  private:
    // Away from 0 and from 1, where lambda has no use.
    static double clamped(float level) { return std::clamp(double(level), 1e-6, 1.0 - 1e-4); }
    static double lambda(float level) { return clamped(level) / (1.0 - clamped(level)); }
    static double alpha(float level) { return 1.0 - clamped(level); }
    static double scale(double y) { return y * (std::exp(std::pow(y, 0.3)) + 10.0); }

    void higher_orders(const SamplingStep & t, double ls, double lt) {
        constexpr int kParts = 200;
        const double dt = lt - ls, width = -dt / double(kParts);
        double first = 0.0, second = 0.0;
        for (int p = 0; p < kParts; ++p) {
            const double at = lt + double(p) * width;
            first += width / scale(at);
            second += width * (at - ls) / scale(at);
        }
        const auto w1 = float(alpha(t.r) * (dt + first * scale(lt)));
        const auto per_lambda = float(1.0 / (ls - lambda(t.before())));
        for (size_t k = 0; k < d_.size(); ++k) {
            slope_[k] = (d_[k] - before_[k]) * per_lambda;
            t.x[k] += w1 * slope_[k];
        }
        if (t.i >= 2) {
            const auto w2 = float(alpha(t.r) * (dt * dt / 2.0 + second * scale(lt)));
            const auto per_half = float(2.0 / (ls - lambda(t.sigmas[t.i - 2])));
            for (size_t k = 0; k < d_.size(); ++k) t.x[k] += w2 * ((slope_[k] - slope_before_[k]) * per_half);
        }
        std::swap(slope_, slope_before_);
    }

    bool with_noise_;
    Values d_, before_, slope_, slope_before_, noise_;
};

// dpm++2m with noise as models need it that do not fade the picture; pictures of flow models get a little too
// much or too little of it.
class Dpmpp2mSde final : public SamplingMethod {
  public:
    Dpmpp2mSde(float eta, bool brownian) : eta_(eta), brownian_(brownian) {}
    void begin(size_t n) override {
        d_ = before_ = noise_ = Values(n);
        paths_.reset();
    }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        if (t.r == 0.0f) return t.finish(d_), true;
        const double h = std::log(double(t.s) / double(t.r)), eta = double(eta_);
        const double keep = double(t.r) / double(t.s) * std::exp(-eta * h), b = -std::expm1(-h * (1.0 + eta));
        t.mix(float(keep), float(b), d_);
        if (!t.first()) {
            const double last = std::log(double(t.before()) / double(t.s));
            const auto w = float(0.5 * b / (last / h));
            for (size_t k = 0; k < d_.size(); ++k) t.x[k] += w * (d_[k] - before_[k]);
        }
        const auto up = float(double(t.r) * std::sqrt(-std::expm1(-2.0 * eta * h)));
        if (brownian_)
            add_brownian(t, up);
        else
            t.add_noise(1.0f, up, noise_);
        std::swap(d_, before_);
        return true;
    }

  private:
    void add_brownian(const SamplingStep & t, float up) {
        if (!(up > 0.0f)) return;
        if (!paths_) paths_.emplace(seed_from(t.rng()), d_.size(), t.s);
        paths_->step_to(t.r, noise_.data());
        for (size_t k = 0; k < d_.size(); ++k) t.x[k] += up * noise_[k];
    }

    // One call for two numbers, whose bits are the seed.
    static uint64_t seed_from(Rng & rng) {
        float drawn[2];
        rng.normal(drawn, 2);
        uint64_t seed;
        static_assert(sizeof(drawn) == sizeof(seed));
        std::memcpy(&seed, drawn, sizeof(seed));
        return seed;
    }

    float eta_;
    bool brownian_;
    Values d_, before_, noise_;
    std::optional<BrownianNoise> paths_;
};

using Made = std::unique_ptr<SamplingMethod>;

} // namespace

Made make_er_sde(float eta, const KeyValues & extra) { return std::make_unique<ErSde>(eta, extra); }
Made make_dpmpp_2m_sde(float eta, const KeyValues &) { return std::make_unique<Dpmpp2mSde>(eta, false); }
Made make_dpmpp_2m_sde_bt(float eta, const KeyValues &) { return std::make_unique<Dpmpp2mSde>(eta, true); }

} // namespace sd
