// One elementwise function with its constants: what UNARY, SQR, SQRT, LOG, SIN, COS, LEAKY_RELU, CLAMP and
// SCALE have in common. Decoded once per node; both the scalar reference and the vector code take it.
#pragma once

#include "ggml.h"

#include <cstdint>

namespace ggml::cpu {

struct UnaryFunction {
    ggml_op op;
    ggml_unary_op unary; // for GGML_OP_UNARY
    // LEAKY_RELU: slope. CLAMP: min, max. SCALE: scale, bias. XIELU: alpha_n, alpha_p, beta, eps.
    float p[4];
};

UnaryFunction unary_function(const ggml_tensor * node);

// The specification. Transcendental functions are computed in double and rounded once; SCALE and XIELU round
// after every operation (x*s, then + b), which later fusions rely on.
float unary_scalar(const UnaryFunction & f, float x);

// y[i] = f(x[i]) for contiguous floats with the best instructions of this processor; y may be x. Same
// roundings as unary_scalar where that one uses no transcendental function.
void unary_row(const UnaryFunction & f, const float * x, float * y, int64_t n);

} // namespace ggml::cpu
