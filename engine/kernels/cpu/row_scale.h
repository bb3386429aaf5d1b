// The scalar arithmetic that all kernels of rotate_quantize.h share.
#pragma once

#include "base/rotation.h"

#include <bit>
#include <cfloat>
#include <cstdint>
#include <limits>

namespace sd {

struct RowScale {
    float scale;
    float inverse; // a code is round(r * inverse), which is at most 127 in magnitude
    bool zero_codes;

    // max_bits: the largest |r|, compared as integers, in which order infinity and NaN come last and are not
    // lost as they are in comparisons of floats.
    static RowScale of(uint32_t max_bits) {
        constexpr uint32_t kInfinity = 0x7f800000;
        if (max_bits >= kInfinity) return {std::numeric_limits<float>::quiet_NaN(), 0.0f, true};
        const float scale = std::bit_cast<float>(max_bits) / 127.0f;
        // The inverse of a subnormal scale may be infinite.
        if (scale < FLT_MIN) return {scale, 0.0f, true};
        return {scale, 1.0f / scale, false};
    }
};

} // namespace sd
