// "sd.linear_w4_convrot.v1": a linear layer with packed 4-bit weights, in the two formats of ComfyUI files.
//
//   inputs     weight I8 [K/2, N], two columns in a byte, the even one in the low nibble; activations packed
//   by
//              sd.quantize_i8_convrot.v1 with the same group; then, of
//                W4A4  weight scales F32, N of them
//                W4A8  codebook F32 [16], channel scales F32, N of them, relative scales I8 [K/16, N], which
//                are
//                      E4M3FN bytes
//              those of one format, the others left out; bias F32, N of them, or none
//   result     F32 [N, rows...]
//     W4A4     nibbles are signed: ((float(sum_k x[k] * w[n][k]) * x_scale) * w_scale[n]) + bias[n], each
//     operation
//              rounded, as in sd.linear_i8.v1
//     W4A8     nibbles are indices: ((sum_g relative[n][g] * sum_{k in g} codebook[w[n][k]] * x[k]) *
//     x_scale) *
//              channel[n] + bias[n], groups of 16 columns
//   layouts    all inputs contiguous; K even, in W4A8 a multiple of 16
//
// Promise: results do not depend on the number of threads. W4A4: every kernel gives the bits of the
// reference. W4A8: kernels/cpu/book_gemm.h says what is rounded. A row with a NaN or an infinity has NaN
// results, a weight row with a relative scale that is NaN too, and neither disturbs another.
#pragma once

#include "ggml-ext.h"

#include <cstdint>

namespace sd {

enum class LinearW4Format : int32_t { w4a4, w4a8 };

struct LinearW4Attrs {
    int32_t group;
    int32_t packed_group; // what the activations were rotated with
    LinearW4Format format;
    int32_t unused;  // 0
    int64_t rows[3]; // logical sizes, dimensions 1 to 3 of the activations before packing: a copy of packed
                     // activations has no producer that could be asked. K and N are those of the weight.
};

struct LinearW4Inputs {
    const ggml_tensor * weight;
    const ggml_tensor * x;
    const ggml_tensor * weight_scale; // W4A4
    const ggml_tensor * codebook;     // this and the next two: W4A8
    const ggml_tensor * channel_scale;
    const ggml_tensor * relative_scale;
    const ggml_tensor * bias; // NULL: none

    static LinearW4Inputs of(const ggml_tensor * const * inputs) {
        return {inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], inputs[5], inputs[6]};
    }
};
constexpr int kLinearW4Inputs = 7;

constexpr int kBookGroup = 16, kBookLevels = 16;

// What a kernel reads, as plain memory.
struct LinearW4Operands {
    LinearW4Format format;
    int64_t k, n, rows;
    const int8_t * weight; // rows of k / 2 bytes
    const int8_t * codes;  // rows of k
    const float * x_scale;
    const float * scale;    // of weight rows: weight or channel scales
    const float * codebook; // this and the next: NULL in W4A4
    const uint8_t * relative_scale;
    const float * bias; // NULL: none

    explicit LinearW4Operands(const ggml_tensor * node);
};

// NULL when memory runs out.
ggml_ext_op_t linear_w4_op();

ggml_status linear_w4_reference(ggml_tensor * node, void * user_data);

ggml_ext_status register_linear_w4(ggml_backend_dev_t device);

} // namespace sd
