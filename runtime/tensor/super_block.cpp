#include "runtime/tensor/super_block.h"

#include "runtime/tensor/importance.h"
#include "runtime/tensor/rounding.h"

#include <algorithm>
#include <cmath>

namespace ggml {
namespace {

constexpr int kMaxGroup = 32;

// Per group, before the scales themselves are rounded.
struct GroupFits {
    float scale[kMaxGroups], offset[kMaxGroups];
    float weight[kMaxGroups]; // sum of the weights of the group's values
};

void plain_weights(const AffineSuperFormat & format, const float * x, float * weight) {
    const float rms =
        format.add_rms ? std::sqrt(sum_of_squares(x, format.group) / float(format.group)) : 0.0f;
    for (int l = 0; l < format.group; ++l) weight[l] = rms + std::fabs(x[l]);
}

GroupFits fit_groups(const AffineSuperFormat & format, const float * x, const float * importance,
                     uint8_t * codes) {
    GroupFits fits;
    const float variance =
        importance ? format.variance_factor * sum_of_squares(x, kSuperBlock) / kSuperBlock : 0.0f;
    const int groups = kSuperBlock / format.group;
    for (int g = 0; g < groups; ++g) {
        const int at = g * format.group;
        float weight[kMaxGroup];
        if (importance) {
            importance_weights(x + at, importance + at, variance, format.group, weight);
        } else {
            plain_weights(format, x + at, weight);
        }
        fits.weight[g] = 0.0f;
        for (int l = 0; l < format.group; ++l) fits.weight[g] += weight[l];
        const AffineSearch & search = importance ? format.weighted : format.plain;
        const AffineFit fit = fit_affine(search, x + at, weight, format.group, codes + at);
        fits.scale[g] = fit.scale;
        fits.offset[g] = fit.offset;
    }
    return fits;
}

// Codes 0..top for non-negative values so that the largest becomes `top`. Returns the unit as half precision.
uint16_t scale_to_top(int top, const float * values, int n, uint8_t * codes) {
    const float largest = std::max(0.0f, *std::max_element(values, values + n));
    const float inverse = largest > 0.0f ? float(top) / largest : 0.0f;
    for (int i = 0; i < n; ++i) codes[i] = uint8_t(nearest_code(inverse * values[i], 0, top));
    return float_to_half(largest / float(top));
}

// The groups' scales as they will be read back differ from the fitted ones, so the values are coded again.
void code_again(const AffineSuperFormat & format, const float * x, AffineSuperBlock & out) {
    const float d = half_to_float(out.d);
    const float dmin = half_to_float(out.dmin);
    for (int g = 0; g < kSuperBlock / format.group; ++g) {
        const float scale = d * float(out.scale_codes[g]);
        if (scale == 0.0f) continue;
        const float offset = dmin * float(out.offset_codes[g]);
        for (int i = g * format.group; i < (g + 1) * format.group; ++i) {
            out.codes[i] = uint8_t(nearest_code((x[i] + offset) / scale, 0, format.plain.top));
        }
    }
}

} // namespace

void fit_affine_super_block(const AffineSuperFormat & format, const float * x, const float * importance,
                            AffineSuperBlock & out) {
    if (!fits_half_scale(x, kSuperBlock)) {
        out = {};
        out.d = kHalfNaN;
        return;
    }
    const int groups = kSuperBlock / format.group;
    const GroupFits fits = fit_groups(format, x, importance, out.codes);
    if (importance) {
        out.d =
            float_to_half(fit_positive(format.scale_top, fits.scale, fits.weight, groups, out.scale_codes));
        out.dmin =
            float_to_half(fit_positive(format.scale_top, fits.offset, fits.weight, groups, out.offset_codes));
    } else {
        out.d = scale_to_top(format.scale_top, fits.scale, groups, out.scale_codes);
        out.dmin = scale_to_top(format.scale_top, fits.offset, groups, out.offset_codes);
    }
    code_again(format, x, out);
}

} // namespace ggml
