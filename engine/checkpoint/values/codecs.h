// 8-bit floats of files. Decoding is exact; 0x7f and 0xff of E4M3FN are NaN.
#pragma once

#include <cstdint>

namespace sd {

float f8_e4m3_to_float(uint8_t code); // 1 sign, 4 exponent, 3 mantissa bits; no infinity, at most 448
float f8_e5m2_to_float(uint8_t code); // the upper byte of a half
float f8_e8m0_to_float(uint8_t code); // 2^(code - 127), 0xff is NaN

// To nearest, ties to even; what is beyond 448 becomes 448, infinity too. NaN becomes NaN.
uint8_t float_to_f8_e4m3(float value);

} // namespace sd
