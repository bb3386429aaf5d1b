// Scalar conversions between float and the two 16-bit float formats. These are the reference the vector
// conversions are compared with: round to nearest even, NaN stays NaN (made quiet), overflow gives infinity.
#pragma once

#include <bit>
#include <cstdint>

namespace ggml {

inline float bf16_to_float(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

inline uint16_t float_to_bf16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return uint16_t((bits >> 16) | 0x40u);
    // Adding 0x7fff plus the lowest kept bit carries exactly when the dropped half rounds up.
    return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// Both directions compute every case and select with masks: a conditional would keep a branch around the
// float arithmetic, and loops over rows would not become vector code.
inline uint32_t select_bits(bool condition, uint32_t yes, uint32_t no) {
    const uint32_t mask = 0u - uint32_t(condition);
    return (yes & mask) | (no & ~mask);
}

inline float half_to_float(uint16_t half) {
    const uint32_t sign = uint32_t(half & 0x8000u) << 16;
    const uint32_t magnitude = half & 0x7fffu;
    // Subnormals count units of 2^-24, exact in float. The others move their exponent from bias 15 to 127.
    const uint32_t tiny = std::bit_cast<uint32_t>(float(int32_t(magnitude)) * 0x1p-24f);
    const uint32_t normal = (magnitude << 13) + 0x38000000u;
    const uint32_t special =
        (magnitude << 13) | 0x7f800000u | select_bits(magnitude > 0x7c00u, 0x400000u, 0u);
    const uint32_t finite = select_bits(magnitude < 0x400u, tiny, normal);
    return std::bit_cast<float>(sign | select_bits(magnitude < 0x7c00u, finite, special));
}

inline uint16_t float_to_half(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    // Below 2^-14 the result is subnormal: adding 0.5 aligns the value so that the float unit rounds at
    // 2^-24.
    const uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    const uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
    const uint32_t finite = select_bits(magnitude < 0x38800000u, tiny, normal);
    const uint32_t special = select_bits(magnitude > 0x7f800000u, nan, 0x7c00u);
    return uint16_t(sign |
                    select_bits(magnitude < 0x477ff000u, finite, special)); // 65520 and up round to infinity
}

} // namespace ggml
