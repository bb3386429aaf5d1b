// Exact products of INT8 activations and signed 4-bit weights, as Int8Gemm tables: weights are rows of
// nibbles, the even column of each pair in the low one, so that `w` and `stride` of pack_panel and dots count
// bytes of two weights; k, which is even, counts weights. Nibbles become bytes in registers: in the panel of
// a few weight rows, or on their way into a dot product, each read once. All of -8..7 is legal.
//
// On x86 the eight weights of four bytes are not put into their order. Their low nibbles (even columns) are
// one step of K, the high ones the next, and packed and prepared activations follow that order. Nibbles xored
// with 8 are the weights plus 8; `start` takes 8 times the activations' sum away.
#pragma once

#include "kernels/cpu/int8_gemm.h"

namespace sd {

// Those of other architectures do not exist.
const Int8Gemm & int4_gemm_avx512vnni();
const Int8Gemm & int4_gemm_avxvnni();
const Int8Gemm & int4_gemm_avx2();
const Int8Gemm & int4_gemm_neon_dotprod();
const Int8Gemm & int4_gemm_scalar();

} // namespace sd
