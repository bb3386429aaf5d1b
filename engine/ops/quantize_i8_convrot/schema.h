// "sd.quantize_i8_convrot.v1": activations as INT8 ConvRot layers read them. Layers that read the same
// activations with the same group share one node.
//
//   input       x F32 [K, rows...], elements of a row side by side, rows at any stride of whole floats
//   attributes  group, and the sizes of x's dimensions 1 to 3, which the packed result has no room for
//   result      I8 [K, R + ceil(4 * R / K)], R the number of rows rounded up to a multiple of 4: R rows of
//               codes, then R F32 scales; codes and scales of padding rows and the rest are zero bytes
//   arithmetic  kernels/cpu/rotate_quantize.h
//
// Promise: every byte of the result is the reference's, whatever the threads and instruction sets; a row that
// is not finite has the scale NaN and disturbs no other.
#pragma once

#include "ggml-ext.h"

#include <cstdint>

namespace sd {

struct QuantizeI8ConvrotAttrs {
    int32_t group;
    int32_t unused; // 0
    int64_t row_ne[3];
};

// Where codes and scales are in a packed tensor.
struct PackedRows {
    int64_t k, rows, padded_rows;

    // k > 0, and the bytes of a tensor of this size can be counted.
    static PackedRows of(int64_t k, int64_t rows) { return {k, rows, (rows + 3) / 4 * 4}; }
    int64_t scale_rows() const { return (4 * padded_rows + k - 1) / k; }
    int64_t total_rows() const { return padded_rows + scale_rows(); }
    int64_t scale_offset() const { return k * padded_rows; } // a multiple of 4
};

// NULL when memory runs out.
ggml_ext_op_t quantize_i8_convrot_op();

// Whether t is the result of this operator; then its attributes can be read.
bool is_packed_rows(const ggml_tensor * t);

// The node of this operator that t is, or is all of under another name; NULL for other tensors.
const ggml_tensor * packed_rows_of(const ggml_tensor * t);

// Whether a node of this operator still is as its builder would make it. Attributes and shapes are plain
// bytes that a program may change afterwards; kernels compute no node that does not fit.
bool is_sound(const ggml_tensor * node, ggml_ext_why_t why);

ggml_status quantize_i8_convrot_reference(ggml_tensor * node, void * user_data);

ggml_ext_status register_quantize_i8_convrot(ggml_backend_dev_t device);

} // namespace sd
