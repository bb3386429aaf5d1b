#include "backends/cpu/kernels/unary/activations.h"
#include "backends/cpu/kernels/unary/function.h"

namespace ggml::cpu {
namespace {

// Comparisons are written so that NaN takes the same branch as in ggml: 0 for sgn, step, relu and
// hardsigmoid.
float hard_gate(float x) {
    const float t = (x + 3.0f) / 6.0f;
    const float low = t > 0.0f ? t : 0.0f;
    return low < 1.0f ? low : 1.0f;
}

float xielu(const float * p, float x) {
    const float alpha_n = p[0], alpha_p = p[1], beta = p[2], eps = p[3];
    if (x > 0.0f) return alpha_p * x * x + beta * x;
    const float bounded = x < eps ? x : eps;
    return (float(std::expm1(double(bounded))) - x) * alpha_n + beta * x;
}

float unary_op(ggml_unary_op op, const float * p, float x) {
    const double wide = x;
    switch (op) {
    case GGML_UNARY_OP_ABS: return std::fabs(x);
    case GGML_UNARY_OP_SGN: return x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : 0.0f);
    case GGML_UNARY_OP_NEG: return -x;
    case GGML_UNARY_OP_STEP: return x > 0.0f ? 1.0f : 0.0f;
    case GGML_UNARY_OP_TANH: return float(std::tanh(wide));
    case GGML_UNARY_OP_ELU: return x > 0.0f ? x : float(std::expm1(wide));
    case GGML_UNARY_OP_RELU: return x > 0.0f ? x : 0.0f;
    case GGML_UNARY_OP_SIGMOID: return float(1.0 / (1.0 + std::exp(-wide)));
    case GGML_UNARY_OP_GELU: return float(gelu(wide));
    case GGML_UNARY_OP_GELU_QUICK: return float(gelu_quick(wide));
    case GGML_UNARY_OP_SILU: return float(silu(wide));
    case GGML_UNARY_OP_HARDSWISH: return x * hard_gate(x);
    case GGML_UNARY_OP_HARDSIGMOID: return hard_gate(x);
    case GGML_UNARY_OP_EXP: return float(std::exp(wide));
    case GGML_UNARY_OP_EXPM1: return float(std::expm1(wide));
    case GGML_UNARY_OP_SOFTPLUS: return x > 20.0f ? x : float(std::log1p(std::exp(wide)));
    case GGML_UNARY_OP_GELU_ERF: return float(gelu_erf(wide));
    case GGML_UNARY_OP_XIELU: return xielu(p, x);
    case GGML_UNARY_OP_FLOOR: return std::floor(x);
    case GGML_UNARY_OP_CEIL: return std::ceil(x);
    case GGML_UNARY_OP_ROUND: return std::round(x);
    case GGML_UNARY_OP_TRUNC: return std::trunc(x);
    case GGML_UNARY_OP_COUNT: break;
    }
    GGML_ABORT("unary operator %d is not known", int(op));
}

} // namespace

float unary_scalar(const UnaryFunction & f, float x) {
    switch (f.op) {
    case GGML_OP_UNARY: return unary_op(f.unary, f.p, x);
    case GGML_OP_SQR: return x * x;
    case GGML_OP_SQRT: return std::sqrt(x);
    case GGML_OP_LOG: return float(std::log(double(x)));
    case GGML_OP_SIN: return float(std::sin(double(x)));
    case GGML_OP_COS: return float(std::cos(double(x)));
    case GGML_OP_LEAKY_RELU: return x > 0.0f ? x : f.p[0] * x;
    case GGML_OP_CLAMP: {
        const float capped = x < f.p[1] ? x : f.p[1]; // NaN becomes max, as in ggml
        return capped > f.p[0] ? capped : f.p[0];
    }
    case GGML_OP_SCALE: {
        const float scaled = x * f.p[0];
        return f.p[1] == 0.0f ? scaled : scaled + f.p[1]; // no addition: keeps -0
    }
    default: GGML_ABORT("%s is not an elementwise function", ggml_op_name(f.op));
    }
}

} // namespace ggml::cpu
