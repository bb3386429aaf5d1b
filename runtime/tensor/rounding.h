// Rounding of scaled values to codes, the same on every processor and defined for every float: out of range
// values take the nearest code and NaN takes the lowest.
#pragma once

#include "runtime/base/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace ggml {

// The comparisons are written so that NaN ends at `low`.
inline float clamped(float v, float low, float high) {
    v = v > low ? v : low;
    return v < high ? v : high;
}

// Nearest integer, ties to even. Limits stay below 2^22: adding 1.5 * 2^23 then leaves the integer in the
// mantissa.
inline int nearest_code(float v, int low, int high) {
    const float shifted = clamped(v, float(low), float(high)) + 0x1.8p23f;
    return std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(0x1.8p23f);
}

// Integer part. Used with a half added, as ggml's simple types round.
inline int floor_code(float v, int low, int high) { return int(clamped(v, float(low), float(high))); }

// Nearest integer, ties away from zero.
inline int round_code(float v, int low, int high) {
    const float bounded = clamped(v, float(low), float(high));
    const int whole = int(bounded);
    const float rest = bounded - float(whole); // exact
    return whole + int(rest >= 0.5f) - int(rest <= -0.5f);
}

// 1/d, with 0 for a block of zeros.
inline float inverse_scale(float d) { return d != 0.0f ? 1.0f / d : 0.0f; }

inline uint32_t largest_magnitude_bits(const float * x, int n) {
    uint32_t largest = 0;
    for (int i = 0; i < n; ++i) largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffu);
    return largest;
}

inline bool all_finite(const float * x, int n) { return largest_magnitude_bits(x, n) < 0x7f800000u; }

// No type with a half-precision scale reaches 2^30 (the largest is 65504 * 128 * 32). Refusing such values
// keeps the sums of the searches finite.
inline bool fits_half_scale(const float * x, int n) {
    return largest_magnitude_bits(x, n) < std::bit_cast<uint32_t>(0x1p30f);
}

inline float largest_magnitude(const float * x, int n) {
    float largest = 0.0f;
    for (int i = 0; i < n; ++i) largest = std::max(largest, std::fabs(x[i]));
    return largest;
}

// The first value of the largest magnitude, with its sign.
inline float signed_extreme(const float * x, int n) {
    float largest = 0.0f;
    float extreme = 0.0f;
    for (int i = 0; i < n; ++i) {
        if (std::fabs(x[i]) > largest) {
            largest = std::fabs(x[i]);
            extreme = x[i];
        }
    }
    return extreme;
}

inline constexpr uint16_t kHalfNaN = 0x7e00;

} // namespace ggml
