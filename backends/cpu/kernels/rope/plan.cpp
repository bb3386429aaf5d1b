// Frequencies are powers of freq_base in double, and angles are double products, so an angle carries no
// accumulated rounding; ggml's own CPU code multiplies floats step by step and differs from this in the last
// bits of the angle.
#include "backends/cpu/kernels/rope/plan.h"
#include "backends/cpu/float_rows.h"
#include "runtime/ops/params.h"

#include <algorithm>
#include <cmath>

namespace ggml::cpu {
namespace {

bool is_multi_axis(int mode) { return (mode & GGML_ROPE_TYPE_MROPE) != 0; }

// YaRN: the pairs between `low` and `high` change gradually from extrapolated to interpolated frequencies.
// Floats here, because floor and ceil of a double could fall on the other side of an integer than in ggml.
struct Ramp {
    float low, high;
    double extrapolated(int64_t pair) const {
        const double y = (double(pair) - low) / std::max(0.001f, high - low);
        return 1.0 - std::clamp(y, 0.0, 1.0);
    }
};

Ramp yarn_ramp(const RopeParams & p) {
    const auto boundary = [&](float rotations) {
        const float wavelength = float(p.n_ctx_orig) / (rotations * 2 * float(M_PI));
        return float(p.n_dims) * std::log(wavelength) / (2 * std::log(p.freq_base));
    };
    return {std::max(0.0f, std::floor(boundary(p.beta_fast))),
            std::min(float(p.n_dims - 1), std::ceil(boundary(p.beta_slow)))};
}

// The axis of pair p, and the number of pairs since its section began (VISION restarts frequencies there).
struct Section {
    int32_t axis;
    int64_t index;
};

Section section_of(const RopeParams & p, int64_t pair) {
    const int64_t total = int64_t(p.sections[0]) + p.sections[1] + p.sections[2] + p.sections[3];
    const int64_t sector = pair % total;
    if (p.mode == GGML_ROPE_TYPE_IMROPE) {
        // Axes take turns pair by pair until each has used up its section.
        const auto axis = int32_t(sector % 3);
        return {sector < 3 * int64_t(p.sections[axis]) ? axis : 3, sector};
    }
    int64_t begin = 0;
    for (int32_t axis = 0; axis < 3; ++axis) {
        if (sector < begin + p.sections[axis]) return {axis, sector - begin};
        begin += p.sections[axis];
    }
    return {3, sector - begin};
}

bool sections_are_valid(const RopeParams & p) {
    int64_t total = 0;
    for (const int32_t n : p.sections) {
        if (n < 0) return false;
        total += n;
    }
    return total > 0;
}

bool mode_is_known(int mode) {
    return mode == GGML_ROPE_TYPE_NORMAL || mode == GGML_ROPE_TYPE_NEOX || mode == GGML_ROPE_TYPE_MROPE ||
           mode == GGML_ROPE_TYPE_IMROPE || mode == GGML_ROPE_TYPE_VISION;
}

} // namespace

RopePairs rope_pairs(const ggml_tensor * node) {
    const auto p = get_params<RopeParams>(node);
    switch (p.mode) {
    case GGML_ROPE_TYPE_NORMAL: return {p.n_dims / 2, p.n_offs, 2, 1};
    case GGML_ROPE_TYPE_VISION: return {p.n_dims, 0, 1, p.n_dims};
    default: return {p.n_dims / 2, p.n_offs, 1, p.n_dims / 2};
    }
}

bool rope_supports(const ggml_tensor * dst) {
    const ggml_tensor *x = dst->src[0], *positions = dst->src[1], *factors = dst->src[2];
    if (x == nullptr || positions == nullptr || !ggml_are_same_shape(x, dst)) return false;
    if (!is_plain_float(x->type) || x->type != dst->type || positions->type != GGML_TYPE_I32) return false;
    const auto p = get_params<RopeParams>(dst);
    if (!mode_is_known(p.mode) || p.n_dims < 0 || p.n_dims % 2 != 0 || p.n_offs < 0) return false;
    if (int64_t(p.n_offs) + p.n_dims > x->ne[0] || !(p.freq_base > 0.0f)) return false;
    if (is_multi_axis(p.mode) && !sections_are_valid(p)) return false;
    if (p.mode == GGML_ROPE_TYPE_VISION && (2 * int64_t(p.n_dims) != x->ne[0] || p.n_offs != 0)) return false;
    if (positions->ne[0] < x->ne[2] * rope_axes(dst)) return false;
    return factors == nullptr || (factors->type == GGML_TYPE_F32 && factors->ne[0] >= rope_pairs(dst).pairs);
}

void rope_rates(const ggml_tensor * node, RopeRate * rates) {
    const auto p = get_params<RopeParams>(node);
    const ggml_tensor * factors = node->src[2];
    const Ramp ramp = p.ext_factor != 0.0f ? yarn_ramp(p) : Ramp{};
    for (int64_t i = 0; i < rope_pairs(node).pairs; ++i) {
        const Section section = is_multi_axis(p.mode) ? section_of(p, i) : Section{0, i};
        const int64_t exponent = p.mode == GGML_ROPE_TYPE_VISION ? section.index : i;
        double rate = std::pow(double(p.freq_base), -2.0 * double(exponent) / p.n_dims);
        if (factors != nullptr) {
            rate /= read_float(factors->type, row_at<char>(factors, size_t(i) * factors->nb[0]));
        }
        const double mix = p.ext_factor != 0.0f ? ramp.extrapolated(i) * p.ext_factor : 0.0;
        rates[i] = {rate * (p.freq_scale * (1.0 - mix) + mix), section.axis};
    }
}

float rope_magnitude(const ggml_tensor * node) {
    const auto p = get_params<RopeParams>(node);
    return p.ext_factor == 0.0f ? p.attn_factor
                                : p.attn_factor * (1.0f + 0.1f * std::log(1.0f / p.freq_scale));
}

int rope_axes(const ggml_tensor * node) { return is_multi_axis(get_params<RopeParams>(node).mode) ? 4 : 1; }

int32_t rope_position(const ggml_tensor * node, int64_t i2, int32_t axis) {
    const ggml_tensor * positions = node->src[1];
    int32_t position;
    std::memcpy(&position, row_at<char>(positions, size_t(i2 + axis * node->ne[2]) * positions->nb[0]),
                sizeof(position));
    return position;
}

} // namespace ggml::cpu
