// "sd.linear_i8.v1": a linear layer with INT8 weights and one scale for each of its outputs.
//
//   inputs     weight I8 [K, N]; activations; weight scales F32, N of them, or none; bias F32, N of them, or
//              none; scales of the activation rows F32, only with plain codes, or none
//   activations  F32, each row rotated in runs of `group` and quantized; plain I8 codes; or codes and scales
//              packed by sd.quantize_i8_convrot.v1
//   result     F32 [N, rows...]: ((float(sum_k x[k] * w[n][k]) * x_scale) * w_scale[n]) + bias[n], each
//              operation rounded; one that has no operand is left out
//   layouts    weight, codes, scales, bias contiguous; F32 activations may have gaps between rows
//
// Sums are exact for any K. Promise: every kernel gives the bits of the reference, whatever the threads and
// instruction sets. A row with a NaN or an infinity has NaN results and disturbs no other row.
#pragma once

#include "ggml-ext.h"

#include <cstdint>

namespace sd {

enum class LinearI8Input : int32_t { floats, codes, packed };

struct LinearI8Attrs {
    int32_t group; // 1: not rotated
    LinearI8Input kind;
    int32_t packed_group; // what packed activations were rotated with; otherwise group
    float factor;    // 1; what the layer of a model multiplies x with is applied outside of this operator
    int64_t rows[3]; // dimensions 1 to 3 of the activations before packing: a copy of packed activations
                     // has no producer that could be asked
};

struct LinearI8Inputs {
    const ggml_tensor * weight;
    const ggml_tensor * x;
    const ggml_tensor * weight_scale; // NULL: none
    const ggml_tensor * bias;         // NULL: none
    const ggml_tensor * x_scale;      // NULL: none

    static LinearI8Inputs of(const ggml_tensor * node) {
        return {node->src[0], node->src[1], node->src[2], node->src[3], node->src[4]};
    }
};

// A node's input rows, wherever they are.
struct LinearI8Rows {
    LinearI8Input kind;
    int group;
    int64_t n, k;
    const ggml_tensor * x;

    explicit LinearI8Rows(const ggml_tensor * node);
    const float * floats(int64_t row) const; // kind floats
    const int8_t * codes(int64_t row) const; // the other kinds, as is scale
    float scale(int64_t row) const;

  private:
    const float * scales_; // NULL: 1
};

// NULL when memory runs out.
ggml_ext_op_t linear_i8_op();

ggml_status linear_i8_reference(ggml_tensor * node, void * user_data);

ggml_ext_status register_linear_i8(ggml_backend_dev_t device);

} // namespace sd
