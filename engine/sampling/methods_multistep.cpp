// Methods that use what earlier steps found instead of asking the model twice.

#include "sampling/methods.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sd {
namespace {

// Second order in the logarithm of the level. The second version takes the step length of the exponential
// from the mean of two steps.
class Dpmpp2m final : public SamplingMethod {
  public:
    explicit Dpmpp2m(bool v2) : v2_(v2) {}
    void begin(size_t n) override { d_ = before_ = Values(n); }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        if (t.r == 0.0f) return t.finish(d_), true;
        const double h = std::log(double(t.s) / double(t.r));
        const float a = t.r / t.s;
        if (t.first()) {
            t.mix(a, -float(std::expm1(-h)), d_);
        } else {
            const double last = std::log(double(t.before()) / double(t.s));
            const double ratio = v2_ ? std::max(last, h) / std::min(last, h) : last / h;
            const auto b = float(std::expm1(v2_ ? -(last + h) / 2.0 : -h)), back = float(0.5 / ratio);
            for (size_t k = 0; k < d_.size(); ++k)
                t.x[k] = a * t.x[k] - b * ((1.0f + back) * d_[k] - back * before_[k]);
        }
        std::swap(d_, before_);
        return true;
    }

  private:
    bool v2_;
    Values d_, before_;
};

// The slopes of up to four steps, the newest first.
class Slopes {
  public:
    static constexpr int kMost = 4;

    void begin(size_t n) {
        for (Values & slope : slopes_) slope.assign(n, 0.0f);
        count_ = 0;
    }

    // (x - d)/s becomes the newest.
    void push(const SamplingStep & t, const Values & d) {
        std::rotate(slopes_.begin(), slopes_.end() - 1, slopes_.end());
        for (size_t k = 0; k < d.size(); ++k) slopes_[0][k] = (t.x[k] - d[k]) / t.s;
        count_ = std::min(count_ + 1, kMost);
    }

    int count() const { return count_; }

    // x += weights[0] * newest + weights[1] * the one before ...; only the first `count` weights.
    void apply(const SamplingStep & t, const std::array<float, kMost> & weights, int count) const {
        for (size_t k = 0; k < t.x.size(); ++k) {
            float sum = 0.0f;
            for (int j = 0; j < count; ++j) sum += weights[size_t(j)] * slopes_[size_t(j)][k];
            t.x[k] += sum;
        }
    }

  private:
    std::array<Values, kMost> slopes_;
    int count_ = 0;
};

// Adams-Bashforth weights of orders 1 to 4, as if all steps were equally long. ipndm_v knows better at
// order 2.
class Ipndm final : public SamplingMethod {
  public:
    explicit Ipndm(bool variable) : variable_(variable) {}
    void begin(size_t n) override {
        d_.assign(n, 0.0f);
        slopes_.begin(n);
    }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        if (t.r == 0.0f) return t.finish(d_), true;
        slopes_.push(t, d_);
        static constexpr std::array<float, 4> kWeights[] = {
            {1.0f},
            {3.0f / 2, -1.0f / 2},
            {23.0f / 12, -16.0f / 12, 5.0f / 12},
            {55.0f / 24, -59.0f / 24, 37.0f / 24, -9.0f / 24}};
        std::array<float, 4> weights = kWeights[slopes_.count() - 1];
        if (variable_ && slopes_.count() == 2) {
            const float ratio = (t.r - t.s) / (t.s - t.before());
            weights = {(2.0f + ratio) / 2.0f, -ratio / 2.0f};
        }
        for (float & weight : weights) weight *= t.r - t.s;
        slopes_.apply(t, weights, slopes_.count());
        return true;
    }

  private:
    bool variable_;
    Values d_;
    Slopes slopes_;
};

// Adams-Bashforth for steps of any lengths: the polynomial through the last slopes, integrated numerically.
class Lms final : public SamplingMethod {
  public:
    explicit Lms(const KeyValues & extra)
        : most_(extra.integer("lms_max_order", Slopes::kMost, 1, Slopes::kMost)),
          shift_(extra.integer("lms_shift", 1, 0, 3)),
          divisions_(extra.integer("lms_divisions", 1000, 1, 1000000)) {}
    void begin(size_t n) override {
        d_.assign(n, 0.0f);
        slopes_.begin(n);
    }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        if (t.r == 0.0f) return t.finish(d_), true;
        slopes_.push(t, d_);
        const int order = std::min(most_, slopes_.count());
        std::array<float, Slopes::kMost> weights = {};
        // A shift above 0 gives older weights to newer slopes: smoother, at the price of the order.
        for (int j = 0; j < order; ++j) weights[size_t(std::max(j - shift_, 0))] += weight(t, j, order);
        slopes_.apply(t, weights, order);
        return true;
    }

  private:
    // The integral from s to r of the polynomial that is 1 at level i - j and 0 at the others.
    float weight(const SamplingStep & t, int j, int order) const {
        const double width = (double(t.r) - double(t.s)) / double(divisions_);
        double sum = 0.0;
        for (int m = 0; m < divisions_; ++m) {
            const double at = double(t.s) + (double(m) + 0.5) * width;
            double product = 1.0;
            for (int k = 0; k < order; ++k) {
                if (k == j) continue;
                const double other = double(t.sigmas[t.i - size_t(k)]);
                product *= (at - other) / (double(t.sigmas[t.i - size_t(j)]) - other);
            }
            sum += product;
        }
        return float(sum * width);
    }

    int most_, shift_, divisions_;
    Values d_;
    Slopes slopes_;
};

// Euler with the slope extrapolated from the last two.
class EulerGe final : public SamplingMethod {
  public:
    EulerGe(float eta, const KeyValues & extra)
        : eta_(eta), gamma_(float(extra.number("gamma", 2.0, -100.0, 100.0))) {}
    void begin(size_t n) override { d_ = before_ = noise_ = Values(n); }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        if (t.r == 0.0f) return t.finish(d_), true;
        const Ancestral a = flow_ancestral(t.s, t.r, eta_);
        const float dt = a.down - t.s, newest = t.first() ? 1.0f : gamma_;
        for (size_t k = 0; k < d_.size(); ++k) {
            const float slope = (t.x[k] - d_[k]) / t.s;
            t.x[k] += t.first() ? slope * dt : (newest * slope + (1.0f - newest) * before_[k]) * dt;
            before_[k] = slope;
        }
        t.add_noise(a.keep, a.up, noise_);
        return true;
    }

  private:
    float eta_, gamma_;
    Values d_, before_, noise_;
};

// Exponential integrator of second order on the last two estimates.
class ResMultistep final : public SamplingMethod {
  public:
    ResMultistep(float eta, const KeyValues &) : eta_(eta) {}
    void begin(size_t n) override { d_ = before_ = noise_ = Values(n); }

    bool step(const SamplingStep & t) override {
        if (!t.evaluate(d_)) return false;
        const Ancestral a = flow_ancestral(t.s, t.r, eta_);
        if (a.down == 0.0f) return t.finish(d_), true;
        if (t.first()) {
            for (size_t k = 0; k < d_.size(); ++k) t.x[k] += (t.x[k] - d_[k]) / t.s * (a.down - t.s);
        } else {
            advance(t, a.down);
        }
        t.add_noise(a.keep, a.up, noise_);
        std::swap(d_, before_);
        down_ = a.down;
        return true;
    }

  private:
    void advance(const SamplingStep & t, float down) const {
        const auto time = [](float level) { return -std::log(double(level)); };
        const double h = time(down) - time(t.s), c2 = (time(t.before()) - time(down_)) / h;
        const auto finite = [](double v) { return std::isfinite(v) ? v : 0.0; };
        const auto w1 = float(h * finite(phi1(-h) - phi2(-h) / c2)), w2 = float(h * finite(phi2(-h) / c2));
        const auto keep = float(std::exp(-h));
        for (size_t k = 0; k < d_.size(); ++k) t.x[k] = keep * t.x[k] + (w1 * d_[k] + w2 * before_[k]);
    }

    float eta_;
    float down_ = 0.0f; // level the step before reached without noise
    Values d_, before_, noise_;
};

using Made = std::unique_ptr<SamplingMethod>;

} // namespace

Made make_dpmpp_2m(float, const KeyValues &) { return std::make_unique<Dpmpp2m>(false); }
Made make_dpmpp_2m_v2(float, const KeyValues &) { return std::make_unique<Dpmpp2m>(true); }
Made make_ipndm(float, const KeyValues &) { return std::make_unique<Ipndm>(false); }
Made make_ipndm_v(float, const KeyValues &) { return std::make_unique<Ipndm>(true); }
Made make_lms(float, const KeyValues & extra) { return std::make_unique<Lms>(extra); }
Made make_euler_ge(float eta, const KeyValues & extra) { return std::make_unique<EulerGe>(eta, extra); }
Made make_res_multistep(float eta, const KeyValues & extra) {
    return std::make_unique<ResMultistep>(eta, extra);
}

} // namespace sd
