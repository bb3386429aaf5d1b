// Methods that look at one step only.

#include "sampling/methods.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

class Euler final : public SamplingMethod {
  public:
    Euler(float, const KeyValues &) {}
    void begin(size_t n) override { d_.assign(n, 0.0f); }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        for (size_t k = 0; k < d_.size(); ++k) t.x[k] += (t.x[k] - d_[k]) / t.s * (t.r - t.s);
        return true;
    }

  private:
    Values d_;
};

// euler_a and ddim_trailing differ in the eta they have by themselves.
class EulerAncestral final : public SamplingMethod {
  public:
    EulerAncestral(float eta, const KeyValues &) : eta_(eta) {}
    void begin(size_t n) override {
        d_.assign(n, 0.0f);
        noise_.assign(n, 0.0f);
    }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        const Ancestral a = flow_ancestral(t.s, t.r, eta_);
        if (a.down == 0.0f)
            t.finish(d_);
        else
            t.mix(a.down / t.s, 1.0f - a.down / t.s, d_);
        t.add_noise(a.keep, a.up, noise_);
        return true;
    }

  private:
    float eta_;
    Values d_, noise_;
};

// The slope at the start, or the mean of both ends.
class Heun final : public SamplingMethod {
  public:
    Heun(float, const KeyValues &) {}
    void begin(size_t n) override { d_ = at_ = d2_ = Values(n); }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        if (t.r == 0.0f) return t.finish(d_), true;
        const float dt = t.r - t.s;
        for (size_t k = 0; k < d_.size(); ++k) {
            d_[k] = (t.x[k] - d_[k]) / t.s; // the slope from here on
            at_[k] = t.x[k] + d_[k] * dt;
        }
        if (!t.evaluate_at(at_, t.r, d2_)) return false;
        for (size_t k = 0; k < d_.size(); ++k) t.x[k] += (d_[k] + (at_[k] - d2_[k]) / t.r) / 2.0f * dt;
        return true;
    }

  private:
    Values d_, at_, d2_;
};

// The slope half-way, in the logarithm of the level.
class Dpm2 final : public SamplingMethod {
  public:
    Dpm2(float, const KeyValues &) {}
    void begin(size_t n) override { d_ = at_ = Values(n); }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        if (t.r == 0.0f) return t.finish(d_), true;
        const float middle = std::sqrt(t.s * t.r);
        for (size_t k = 0; k < d_.size(); ++k) at_[k] = t.x[k] + (t.x[k] - d_[k]) / t.s * (middle - t.s);
        if (!t.evaluate_at(at_, middle, d_)) return false;
        for (size_t k = 0; k < d_.size(); ++k) t.x[k] += (at_[k] - d_[k]) / middle * (t.r - t.s);
        return true;
    }

  private:
    Values d_, at_;
};

class Dpmpp2sAncestral final : public SamplingMethod {
  public:
    Dpmpp2sAncestral(float eta, const KeyValues &) : eta_(eta) {}
    void begin(size_t n) override { d_ = at_ = noise_ = Values(n); }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        const Ancestral a = flow_ancestral(t.s, t.r, eta_);
        if (a.down == 0.0f) return t.finish(d_), true;
        if (1.0f - t.s >= 1e-6f) { // at level 1 the signal to noise ratio is 0 and has no logarithm
            const float e = std::sqrt((1.0f - t.s) / t.s * ((1.0f - a.down) / a.down));
            const float middle = 1.0f / (1.0f + e), share = middle / t.s;
            for (size_t k = 0; k < d_.size(); ++k) at_[k] = share * t.x[k] + (1.0f - share) * d_[k];
            if (!t.evaluate_at(at_, middle, d_)) return false;
        }
        t.mix(a.down / t.s, 1.0f - a.down / t.s, d_);
        t.add_noise(a.keep, a.up, noise_);
        return true;
    }

  private:
    float eta_;
    Values d_, at_, noise_;
};

// The estimate with new noise of the next level.
class Lcm final : public SamplingMethod {
  public:
    Lcm(float, const KeyValues & extra)
        : start_(float(extra.number("noise_scale_start", 1.0, 0.0, 100.0))),
          end_(float(extra.number("noise_scale_end", double(start_), 0.0, 100.0))),
          clip_(float(extra.number("noise_clip_std", 0.0, 0.0, 100.0))) {}
    void begin(size_t n) override { d_ = noise_ = Values(n); }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        t.finish(d_);
        const float part = t.steps() > 1 ? float(t.i) / float(t.steps() - 1) : 0.0f;
        const float up = t.r * (start_ + (end_ - start_) * part);
        if (t.r == 0.0f) return true;
        if (up > 0.0f) {
            t.draw(noise_);
            clip();
        } else {
            std::fill(noise_.begin(), noise_.end(), 0.0f);
        }
        for (size_t k = 0; k < d_.size(); ++k) t.x[k] = (1.0f - t.r) * d_[k] + up * noise_[k];
        return true;
    }

  private:
    void clip() {
        if (clip_ == 0.0f) return;
        double sum = 0.0, squares = 0.0;
        for (const float v : noise_) sum += double(v), squares += double(v) * double(v);
        const double n = double(noise_.size()), mean = sum / n;
        const auto most = float(double(clip_) * std::sqrt(std::max(squares / n - mean * mean, 0.0)));
        for (float & v : noise_) v = std::clamp(v, -most, most);
    }

    float start_, end_, clip_;
    Values d_, noise_;
};

// Exponential integrator of second order, with the second estimate half-way in the logarithm of the level.
class Res2s final : public SamplingMethod {
  public:
    Res2s(float eta, const KeyValues &) : eta_(eta) {}
    void begin(size_t n) override { d_ = at_ = d2_ = noise_ = Values(n); }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        const Ancestral a = flow_ancestral(t.s, t.r, eta_);
        if (a.down == 0.0f) return t.finish(d_), true;
        constexpr double kHalf = 0.5;
        const double start = -std::log(double(t.s)), h = -std::log(double(a.down)) - start;
        const double b2 = phi2(-h) / kHalf;
        const auto to_middle = float(h * kHalf * phi1(-h * kHalf));
        const auto w1 = float(h * (phi1(-h) - b2)), w2 = float(h * b2);
        const auto middle = float(std::exp(-(start + kHalf * h)));
        for (size_t k = 0; k < d_.size(); ++k) at_[k] = t.x[k] + to_middle * (d_[k] - t.x[k]);
        if (!t.evaluate_at(at_, middle, d2_)) return false;
        for (size_t k = 0; k < d_.size(); ++k) t.x[k] += w1 * (d_[k] - t.x[k]) + w2 * (d2_[k] - t.x[k]);
        t.add_noise(a.keep, a.up, noise_);
        return true;
    }

  private:
    float eta_;
    Values d_, at_, d2_, noise_;
};

// euler_cfg_pp is the form without noise. The picture comes from the guided estimate, the noise from the one
// without guidance. The ancestral form splits variances as models do that add noise without fading the
// picture.
class EulerCfgPp final : public SamplingMethod {
  public:
    EulerCfgPp(float eta, const KeyValues &) : eta_(eta) {}
    void begin(size_t n) override { d_ = uncond_ = noise_ = Values(n); }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_, &uncond_)) return false;
        if (t.r == 0.0f) return t.finish(d_), true;
        const float s2 = t.s * t.s, r2 = t.r * t.r;
        const float up = std::min(t.r, eta_ * std::sqrt(r2 * (s2 - r2) / s2));
        const float down = up > 0.0f ? std::sqrt(std::max(r2 - up * up, 0.0f)) : t.r;
        for (size_t k = 0; k < d_.size(); ++k) t.x[k] = d_[k] + (t.x[k] - uncond_[k]) / t.s * down;
        t.add_noise(1.0f, up, noise_);
        return true;
    }

  private:
    float eta_;
    Values d_, uncond_, noise_;
};

using Made = std::unique_ptr<SamplingMethod>;

} // namespace

Made make_euler(float eta, const KeyValues & extra) { return std::make_unique<Euler>(eta, extra); }
Made make_euler_a(float eta, const KeyValues & extra) { return std::make_unique<EulerAncestral>(eta, extra); }
Made make_heun(float eta, const KeyValues & extra) { return std::make_unique<Heun>(eta, extra); }
Made make_dpm2(float eta, const KeyValues & extra) { return std::make_unique<Dpm2>(eta, extra); }
Made make_dpmpp_2s_a(float eta, const KeyValues & extra) {
    return std::make_unique<Dpmpp2sAncestral>(eta, extra);
}
Made make_lcm(float eta, const KeyValues & extra) { return std::make_unique<Lcm>(eta, extra); }
Made make_res_2s(float eta, const KeyValues & extra) { return std::make_unique<Res2s>(eta, extra); }
Made make_euler_cfg_pp(float eta, const KeyValues & extra) {
    return std::make_unique<EulerCfgPp>(eta, extra);
}

} // namespace sd
