// Scalar definitions of the activation functions, in double: the specification of the unary and gated
// operators. A result is this value rounded to float once. Constants are the floats ggml's API uses.
#pragma once

#include <cmath>

namespace ggml::cpu {

inline double silu(double x) { return x / (1.0 + std::exp(-x)); }

inline double gelu(double x) {
    const double u = double(0.79788456080286535588f) * x * (1.0 + double(0.044715f) * x * x);
    return 0.5 * x * (1.0 + std::tanh(u));
}

inline double gelu_erf(double x) { return 0.5 * x * (1.0 + std::erf(x * double(0.70710678118654752440f))); }

inline double gelu_quick(double x) { return x / (1.0 + std::exp(-double(1.702f) * x)); }

} // namespace ggml::cpu
