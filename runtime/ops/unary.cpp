#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

#include <cmath>

namespace ggml {
namespace {

// Operators with a number of their own: any layout of a is accepted.
ggml_tensor * elementwise(ggml_context * ctx, const char * name, ggml_op op, ggml_tensor * a, bool inplace) {
    return as_node(result_like(ctx, name, a, inplace), op, {a});
}

ggml_tensor * unary(ggml_context * ctx, ggml_tensor * a, ggml_unary_op op, bool inplace) {
    GGML_SHAPE_CHECK(op >= 0 && op < GGML_UNARY_OP_COUNT, "ggml_unary", "there is no such function", a);
    GGML_SHAPE_CHECK(ggml_is_contiguous_rows(a), "ggml_unary", "the rows of a are not contiguous", a);
    ggml_tensor * result = result_like(ctx, "ggml_unary", a, inplace);
    set_params(result, UnaryParams{op});
    return as_node(result, GGML_OP_UNARY, {a});
}

// log(1 + exp(x)); above 20 the difference to x is below float resolution, and exp would overflow later on.
float softplus(float x) { return x > 20.0f ? x : std::log(1.0f + std::exp(x)); }

} // namespace
} // namespace ggml

#define CONVROT_ELEMENTWISE(name, op)                                                                        \
    ggml_tensor * ggml_##name(ggml_context * ctx, ggml_tensor * a) {                                         \
        return ggml::elementwise(ctx, "ggml_" #name, op, a, false);                                          \
    }                                                                                                        \
    ggml_tensor * ggml_##name##_inplace(ggml_context * ctx, ggml_tensor * a) {                               \
        return ggml::elementwise(ctx, "ggml_" #name, op, a, true);                                           \
    }

CONVROT_ELEMENTWISE(sqr, GGML_OP_SQR)
CONVROT_ELEMENTWISE(sqrt, GGML_OP_SQRT)
CONVROT_ELEMENTWISE(log, GGML_OP_LOG)
CONVROT_ELEMENTWISE(sin, GGML_OP_SIN)
CONVROT_ELEMENTWISE(cos, GGML_OP_COS)

#undef CONVROT_ELEMENTWISE

#define CONVROT_UNARY(name, op)                                                                              \
    ggml_tensor * ggml_##name(ggml_context * ctx, ggml_tensor * a) { return ggml::unary(ctx, a, op, false); }
#define CONVROT_UNARY_PAIR(name, op)                                                                         \
    CONVROT_UNARY(name, op)                                                                                  \
    ggml_tensor * ggml_##name##_inplace(ggml_context * ctx, ggml_tensor * a) {                               \
        return ggml::unary(ctx, a, op, true);                                                                \
    }

CONVROT_UNARY_PAIR(abs, GGML_UNARY_OP_ABS)
CONVROT_UNARY_PAIR(sgn, GGML_UNARY_OP_SGN)
CONVROT_UNARY_PAIR(neg, GGML_UNARY_OP_NEG)
CONVROT_UNARY_PAIR(step, GGML_UNARY_OP_STEP)
CONVROT_UNARY_PAIR(tanh, GGML_UNARY_OP_TANH)
CONVROT_UNARY_PAIR(elu, GGML_UNARY_OP_ELU)
CONVROT_UNARY_PAIR(relu, GGML_UNARY_OP_RELU)
CONVROT_UNARY_PAIR(sigmoid, GGML_UNARY_OP_SIGMOID)
CONVROT_UNARY_PAIR(gelu, GGML_UNARY_OP_GELU)
CONVROT_UNARY_PAIR(gelu_erf, GGML_UNARY_OP_GELU_ERF)
CONVROT_UNARY_PAIR(gelu_quick, GGML_UNARY_OP_GELU_QUICK)
CONVROT_UNARY_PAIR(silu, GGML_UNARY_OP_SILU)
CONVROT_UNARY_PAIR(exp, GGML_UNARY_OP_EXP)
CONVROT_UNARY_PAIR(expm1, GGML_UNARY_OP_EXPM1)
CONVROT_UNARY_PAIR(softplus, GGML_UNARY_OP_SOFTPLUS)
CONVROT_UNARY_PAIR(floor, GGML_UNARY_OP_FLOOR)
CONVROT_UNARY_PAIR(ceil, GGML_UNARY_OP_CEIL)
CONVROT_UNARY_PAIR(round, GGML_UNARY_OP_ROUND)
CONVROT_UNARY_PAIR(trunc, GGML_UNARY_OP_TRUNC)
CONVROT_UNARY(hardswish, GGML_UNARY_OP_HARDSWISH)
CONVROT_UNARY(hardsigmoid, GGML_UNARY_OP_HARDSIGMOID)

#undef CONVROT_UNARY_PAIR
#undef CONVROT_UNARY

ggml_tensor * ggml_unary(ggml_context * ctx, ggml_tensor * a, ggml_unary_op op) {
    return ggml::unary(ctx, a, op, false);
}

ggml_tensor * ggml_unary_inplace(ggml_context * ctx, ggml_tensor * a, ggml_unary_op op) {
    return ggml::unary(ctx, a, op, true);
}

ggml_unary_op ggml_get_unary_op(const ggml_tensor * tensor) {
    GGML_SHAPE_CHECK(tensor->op == GGML_OP_UNARY, "ggml_get_unary_op", "not a unary node", tensor);
    return ggml_unary_op(ggml::get_params<ggml::UnaryParams>(tensor).op);
}

ggml_tensor * ggml_leaky_relu(ggml_context * ctx, ggml_tensor * a, float negative_slope, bool inplace) {
    ggml_tensor * result = ggml::result_like(ctx, "ggml_leaky_relu", a, inplace);
    ggml::set_params(result, ggml::LeakyReluParams{negative_slope});
    return ggml::as_node(result, GGML_OP_LEAKY_RELU, {a});
}

// The learned alphas are stored unconstrained; kernels get them after the constraining functions.
ggml_tensor * ggml_xielu(ggml_context * ctx, ggml_tensor * a, float alpha_n, float alpha_p, float beta,
                         float eps) {
    ggml_tensor * result = ggml::result_like(ctx, "ggml_xielu", a, false);
    ggml::set_params(result, ggml::XieluParams{GGML_UNARY_OP_XIELU, beta + ggml::softplus(alpha_n),
                                               ggml::softplus(alpha_p), beta, eps});
    return ggml::as_node(result, GGML_OP_UNARY, {a});
}
