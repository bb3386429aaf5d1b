// Conversions between float rows and every readable type. Row lengths are whole numbers of blocks. Reading is
// exact with respect to the public layouts; writing uses ggml's reference rounding. Blocks may be at any
// address that is aligned for their fields, and source and destination do not overlap.
//
// A block that holds a NaN or an infinity cannot be represented: it is written with a NaN scale, so that it
// reads back as NaN throughout and ggml_validate_row_data refuses it.
#pragma once

#include "runtime/tensor/types.h"

namespace ggml {

// Plain numbers. Integers saturate, drop the fraction and take NaN as 0.
void f32_to_float(const void * src, float * dst, int64_t n);
void f16_to_float(const void * src, float * dst, int64_t n);
void bf16_row_to_float(const void * src, float * dst, int64_t n);
void f64_to_float(const void * src, float * dst, int64_t n);
void i8_to_float(const void * src, float * dst, int64_t n);
void i16_to_float(const void * src, float * dst, int64_t n);
void i32_to_float(const void * src, float * dst, int64_t n);
void i64_to_float(const void * src, float * dst, int64_t n);

void float_to_f32(const float * src, void * dst, int64_t n);
void float_to_f16(const float * src, void * dst, int64_t n);
void float_to_bf16_row(const float * src, void * dst, int64_t n);
void float_to_f64(const float * src, void * dst, int64_t n);
void float_to_i8(const float * src, void * dst, int64_t n);
void float_to_i16(const float * src, void * dst, int64_t n);
void float_to_i32(const float * src, void * dst, int64_t n);
void float_to_i64(const float * src, void * dst, int64_t n);

// Blocks.
void q4_0_to_float(const void * src, float * dst, int64_t n);
void q4_1_to_float(const void * src, float * dst, int64_t n);
void q5_0_to_float(const void * src, float * dst, int64_t n);
void q5_1_to_float(const void * src, float * dst, int64_t n);
void q8_0_to_float(const void * src, float * dst, int64_t n);
void q8_1_to_float(const void * src, float * dst, int64_t n);
void q2_k_to_float(const void * src, float * dst, int64_t n);
void q3_k_to_float(const void * src, float * dst, int64_t n);
void q4_k_to_float(const void * src, float * dst, int64_t n);
void q5_k_to_float(const void * src, float * dst, int64_t n);
void q6_k_to_float(const void * src, float * dst, int64_t n);
void q8_k_to_float(const void * src, float * dst, int64_t n);

void float_to_q4_0(const float * src, void * dst, int64_t n);
void float_to_q4_1(const float * src, void * dst, int64_t n);
void float_to_q5_0(const float * src, void * dst, int64_t n);
void float_to_q5_1(const float * src, void * dst, int64_t n);
void float_to_q8_0(const float * src, void * dst, int64_t n);
void float_to_q8_1(const float * src, void * dst, int64_t n);
void float_to_q2_k(const float * src, void * dst, int64_t n);
void float_to_q3_k(const float * src, void * dst, int64_t n);
void float_to_q4_k(const float * src, void * dst, int64_t n);
void float_to_q5_k(const float * src, void * dst, int64_t n);
void float_to_q6_k(const float * src, void * dst, int64_t n);
void float_to_q8_k(const float * src, void * dst, int64_t n);

// One row, minimising the error weighted by the importance of each column (n numbers >= 0). Importance is
// taken relative to the other columns; its unit does not matter.
void float_to_q4_0_weighted(const float * src, void * dst, int64_t n, const float * importance);
void float_to_q4_1_weighted(const float * src, void * dst, int64_t n, const float * importance);
void float_to_q5_0_weighted(const float * src, void * dst, int64_t n, const float * importance);
void float_to_q5_1_weighted(const float * src, void * dst, int64_t n, const float * importance);
void float_to_q2_k_weighted(const float * src, void * dst, int64_t n, const float * importance);
void float_to_q3_k_weighted(const float * src, void * dst, int64_t n, const float * importance);
void float_to_q4_k_weighted(const float * src, void * dst, int64_t n, const float * importance);
void float_to_q5_k_weighted(const float * src, void * dst, int64_t n, const float * importance);
void float_to_q6_k_weighted(const float * src, void * dst, int64_t n, const float * importance);

} // namespace ggml
