// "sd.rope_apply.v1": rotary embedding by a table of rotations.
//
//   inputs     x F32 [head, heads, tokens, batch]; pe F32 [2, 2, pairs, tokens], 2 * pairs <= head
//   result     F32 of x's shape. Of the pair (a, b) = x[2i], x[2i + 1] (interleaved) or x[i], x[i + pairs],
//              with m = pe[.][.][i][token]:   a' = a * m[0][0] + b * m[0][1]
//                                             b' = a * m[1][0] + b * m[1][1]
//              both products and the sum rounded to F32; m[r][c] is element c of dimension 0, r of dimension
//              1. Elements from 2 * pairs on are copied.
//   strides    any of whole floats, for both inputs
//
// Promise: every kernel gives the bits of the reference, whatever the threads and instruction sets.
#pragma once

#include "ggml-ext.h"

#include <cstdint>

namespace sd {

struct RopeApplyAttrs {
    int32_t interleaved;
};

struct RopeApplyInputs {
    const ggml_tensor * x;
    const ggml_tensor * pe;

    int64_t pairs() const { return pe->ne[2]; }
    static RopeApplyInputs of(const ggml_tensor * node) { return {node->src[0], node->src[1]}; }
};

// NULL when memory runs out.
ggml_ext_op_t rope_apply_op();

ggml_status rope_apply_reference(ggml_tensor * node, void * user_data);

ggml_ext_status register_rope_apply(ggml_backend_dev_t device);

} // namespace sd
