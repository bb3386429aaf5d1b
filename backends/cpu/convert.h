// Fast conversions of contiguous rows between float and the 16-bit types, bit-identical with the scalar
// functions of runtime/base/half.h (NaN payloads included). No alignment needed.
#pragma once

#include <cstdint>

namespace ggml::cpu {

void half_to_float_row(const uint16_t * src, float * dst, int64_t n);
void float_to_half_row(const float * src, uint16_t * dst, int64_t n);
void bf16_to_float_row(const uint16_t * src, float * dst, int64_t n);
void float_to_bf16_row(const float * src, uint16_t * dst, int64_t n);

} // namespace ggml::cpu
