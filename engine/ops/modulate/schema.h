// "sd.modulate.v1": scales and shifts normalized activations, as adaptive layer norms do.
//
//   inputs     x F32; scale F32; shift F32 or none
//   result     F32 of x's shape: (x + x * scale) + shift, each operation rounded to F32; without shift,
//              x + x * scale
//   repeats    scale and shift each over x, dimension by dimension: x's size is a multiple of theirs
//   strides    any of whole floats, for each input
//
// x + x * scale is not x * (1 + scale): both round, at different places, and kernels keep the former.
// Promise: every kernel gives the bits of the reference, whatever the threads and instruction sets.
#pragma once

#include "ggml-ext.h"

namespace sd {

struct ModulateInputs {
    const ggml_tensor * x;
    const ggml_tensor * scale;
    const ggml_tensor * shift; // NULL: none

    static ModulateInputs of(const ggml_tensor * node) { return {node->src[0], node->src[1], node->src[2]}; }
};

// NULL when memory runs out.
ggml_ext_op_t modulate_op();

ggml_status modulate_reference(ggml_tensor * node, void * user_data);

ggml_ext_status register_modulate(ggml_backend_dev_t device);

} // namespace sd
