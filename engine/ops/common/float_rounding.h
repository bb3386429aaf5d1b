// Values as narrower formats hold them, for references that say where a kernel rounds. To nearest, ties to
// even.
#pragma once

#include "ggml.h"

#include <algorithm>
#include <cmath>

namespace sd {

inline float as_f16(float x) { return ggml_fp16_to_fp32(ggml_fp32_to_fp16(x)); }
inline float as_bf16(float x) { return ggml_bf16_to_fp32(ggml_fp32_to_bf16(x)); }

// FP8 E4M3: 3 fraction bits, smallest exponent -6 with denormals below, no infinity. Larger values become the
// largest, 448, as conversions with saturation do; NaN stays.
inline constexpr float kMaxE4m3 = 448.0f;
inline float as_e4m3(float x) {
    if (std::isnan(x)) return x;
    const float bounded = std::clamp(x, -kMaxE4m3, kMaxE4m3);
    int exponent = 0;
    std::frexp(bounded, &exponent); // |bounded| in [2^(exponent - 1), 2^exponent)
    const float step = std::ldexp(1.0f, std::max(exponent - 1, -6) - 3);
    return std::nearbyint(bounded / step) * step;
}

} // namespace sd
