// Values of E4M3FN bytes: one sign bit, four of exponent (bias 7), three of mantissa; no infinity, 0x7f and
// 0xff are NaN.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace sd {

// As the upper bits of a float, the seven bits of the magnitude make 2^-120 times the value, subnormals
// included.
constexpr float e4m3_value(uint8_t byte) {
    const uint32_t magnitude = byte & 0x7f;
    if (magnitude == 0x7f) return std::numeric_limits<float>::quiet_NaN();
    const float value = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
    return byte & 0x80 ? -value : value;
}

inline constexpr std::array<float, 256> kE4m3Values = [] {
    std::array<float, 256> values{};
    for (int byte = 0; byte < 256; ++byte) values[std::size_t(byte)] = e4m3_value(uint8_t(byte));
    return values;
}();

} // namespace sd
