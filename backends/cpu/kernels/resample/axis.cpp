#include "backends/cpu/kernels/resample/axis.h"

#include "runtime/ops/params.h"

#include <algorithm>
#include <cmath>

namespace ggml::cpu {

UpscaleAxis::UpscaleAxis(const ggml_tensor * dst, int dim) {
    const int32_t mode = get_params<UpscaleParams>(dst).mode;
    const int64_t n_dst = dst->ne[dim];
    mode_ = dim < 2 ? mode & 0xff : int(GGML_SCALE_MODE_NEAREST);
    antialias_ = (mode & GGML_SCALE_FLAG_ANTIALIAS) != 0;
    n_ = dst->src[0]->ne[dim];
    factor_ = float(n_dst) / float(n_);
    offset_ = 0.5f;
    if (dim < 2 && (mode & GGML_SCALE_FLAG_ALIGN_CORNERS) != 0) {
        offset_ = 0.0f;
        if (n_dst > 1 && n_ > 1) factor_ = float(n_dst - 1) / float(n_ - 1);
    }
    support_ = std::max(1.0f, 1.0f / factor_);
}

int32_t UpscaleAxis::inside(int64_t index) const { return int32_t(std::clamp<int64_t>(index, 0, n_ - 1)); }

int64_t UpscaleAxis::nearest(int64_t i) const {
    // The quotient of rounded numbers may reach the end.
    return std::min(int64_t(float(i) / factor_), n_ - 1);
}

int64_t UpscaleAxis::max_taps() const {
    if (mode_ == GGML_SCALE_MODE_BICUBIC) return 4;
    return antialias_ ? std::min(int64_t(2.0f * support_) + 2, n_) : 2;
}

int64_t UpscaleAxis::taps(int64_t i, Tap * out) const {
    if (mode_ == GGML_SCALE_MODE_BICUBIC) return cubic(i, out);
    return antialias_ ? antialiased(i, out) : linear(i, out);
}

int64_t UpscaleAxis::linear(int64_t i, Tap * out) const {
    const float position = (float(i) + offset_) / factor_ - offset_;
    const int64_t low = int64_t(std::floor(position));
    const float t = std::clamp(position - float(inside(low)), 0.0f, 1.0f);
    // A neighbour without weight is left out: times infinity it would give NaN.
    if (t == 0.0f || inside(low) == inside(low + 1)) {
        out[0] = {inside(low), 1.0f};
        return 1;
    }
    out[0] = {inside(low), 1.0f - t};
    out[1] = {inside(low + 1), t};
    return 2;
}

// A triangle as wide as the result's elements, at least as the source's; weights are divided by their sum.
int64_t UpscaleAxis::antialiased(int64_t i, Tap * out) const {
    const float centre = (float(i) + offset_) / factor_;
    const int64_t begin = std::max<int64_t>(int64_t(centre - support_ + offset_), 0);
    const int64_t end = std::min({int64_t(centre + support_ + offset_), n_, begin + max_taps()});
    int64_t count = 0;
    float total = 0;
    for (int64_t s = begin; s < end; ++s) {
        const float weight = 1.0f - std::fabs((float(s) - centre + offset_) / support_);
        if (weight <= 0.0f) continue;
        out[count++] = {int32_t(s), weight};
        total += weight;
    }
    for (int64_t k = 0; k < count; ++k) out[k].weight /= total;
    return count;
}

// Convolution with Keys' kernel, a = -0.75.
int64_t UpscaleAxis::cubic(int64_t i, Tap * out) const {
    constexpr float a = -0.75f;
    const auto inner = [](float x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    const auto outer = [](float x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
    const float position = (float(i) + offset_) / factor_ - offset_;
    const int64_t low = int64_t(std::floor(position));
    const float t = position - float(low);
    out[0] = {inside(low - 1), outer(t + 1)};
    out[1] = {inside(low), inner(t)};
    out[2] = {inside(low + 1), inner(1 - t)};
    out[3] = {inside(low + 2), outer(2 - t)};
    return 4;
}

} // namespace ggml::cpu
