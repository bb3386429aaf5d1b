#include "sampling/guidance.h"

#include "base/error.h"
#include "base/trimmed.h"
#include "sampling/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace sd {
namespace {

constexpr double kMostScale = 1000.0;

[[noreturn]] void refuse(const std::string & cause) { throw Error({"E_GUIDANCE", {}, {}, cause, {}}); }

double dot(const float * a, const float * b, size_t n) {
    double sum = 0.0;
    for (size_t k = 0; k < n; ++k) sum += double(a[k]) * double(b[k]);
    return sum;
}

} // namespace

void combine_cfg(const float * cond, const float * uncond, float scale, size_t n, float * out) {
    for (size_t k = 0; k < n; ++k) out[k] = uncond[k] + scale * (cond[k] - uncond[k]);
}

std::vector<float> parse_guidance_schedule(std::string_view text) {
    std::vector<float> scales;
    while (true) {
        const size_t end = text.find('+');
        const std::string_view entry = trimmed(text.substr(0, end));
        const size_t times = entry.find('x');
        const std::optional<double> scale = finite_number(trimmed(entry.substr(0, times)));
        const std::optional<double> count =
            times == std::string_view::npos ? 1.0 : finite_number(trimmed(entry.substr(times + 1)));
        if (!scale || *scale < 0.0 || *scale > kMostScale || !count || *count < 1.0 ||
            *count > double(kMostSteps) || *count != std::floor(*count))
            refuse("guidance_schedule: " + in_quotes(entry, 40) + " is no SCALExCOUNT");
        scales.insert(scales.end(), size_t(*count), float(*scale));
        if (scales.size() > size_t(kMostSteps))
            refuse("guidance_schedule: more than " + std::to_string(kMostSteps) + " entries");
        if (end == std::string_view::npos) return scales;
        text.remove_prefix(end + 1);
    }
}

Guidance::Guidance(float scale, int steps, const KeyValues & extra)
    : scale_(scale), apg_eta_(extra.number("apg_eta", 1.0, -100.0, 100.0)),
      apg_momentum_(extra.number("apg_momentum", 0.0, -100.0, 100.0)),
      apg_threshold_(extra.number("apg_norm_threshold", 0.0, 0.0, 1e9)),
      apg_smoothing_(extra.number("apg_norm_threshold_smoothing", 0.0, 0.0, 100.0)) {
    apg_ = apg_eta_ != 1.0 || apg_momentum_ != 0.0 || apg_threshold_ != 0.0 || apg_smoothing_ != 0.0;
    if (!(scale >= 0.0f && double(scale) <= kMostScale))
        refuse("guidance scale " + std::to_string(scale) + " is no number from 0 to 1000");
    if (!extra.has("guidance_schedule")) return;
    schedule_ = parse_guidance_schedule(extra.text("guidance_schedule"));
    if (steps > int(schedule_.size()))
        refuse("guidance_schedule has " + std::to_string(schedule_.size()) + " entries for " +
               std::to_string(steps) + " steps");
}

float Guidance::scale(int step) const {
    if (schedule_.empty()) return scale_;
    const auto at = size_t(std::max(std::abs(step) - 1, 0));
    return schedule_[std::min(at, schedule_.size() - 1)];
}

bool Guidance::ever_needs_uncond() const {
    if (schedule_.empty()) return scale_ != 1.0f;
    return std::any_of(schedule_.begin(), schedule_.end(), [](float scale) { return scale != 1.0f; });
}

void Guidance::combine(int step, const float * cond, const float * uncond, size_t n, float * out) {
    if (apg_)
        project(scale(step), cond, uncond, n, out);
    else
        combine_cfg(cond, uncond, scale(step), n, out);
}

// Adaptive projected guidance: the direction of guidance is smoothed over steps, limited in length, and its
// part along the model's answer, which mostly adds saturation, is weighted by eta.
void Guidance::project(float scale, const float * cond, const float * uncond, size_t n, float * out) {
    delta_.resize(n);
    if (momentum_.size() != n) momentum_.assign(n, 0.0f);
    for (size_t k = 0; k < n; ++k) delta_[k] = cond[k] - uncond[k] + float(apg_momentum_) * momentum_[k];
    momentum_ = delta_;
    if (apg_threshold_ > 0.0) {
        // As long as it would be with 256^2 values, so that a threshold suits all sizes.
        const double norm = std::sqrt(dot(delta_.data(), delta_.data(), n)) * 256.0 / std::sqrt(double(n));
        const double ratio = apg_threshold_ / norm, q = apg_smoothing_;
        double factor = std::min(1.0, ratio); // 1 for a norm of 0
        if (q > 0.0 && std::isfinite(ratio)) factor = ratio / std::pow(1.0 + std::pow(ratio, 1.0 / q), q);
        for (float & d : delta_) d *= float(factor);
    }
    const double square = dot(cond, cond, n);
    const double along = square > 0.0 ? dot(cond, delta_.data(), n) / square : 0.0;
    const auto weight = float((apg_eta_ - 1.0) * along);
    for (size_t k = 0; k < n; ++k) out[k] = cond[k] + (scale - 1.0f) * (delta_[k] + weight * cond[k]);
}

} // namespace sd
