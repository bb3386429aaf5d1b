// Names and symbols of operators. Names are the enumerators without their prefix, so they are made from them;
// the symbols appear in drawings of graphs and equal ggml's.
#include "runtime/ops/build.h"
#include "runtime/ops/extension_node.h"

namespace ggml {
namespace {

struct OpNames {
    const char * name;
    const char * symbol;
};

OpNames op_names(ggml_op op) {
#define OP(id, symbol)                                                                                       \
    case GGML_OP_##id: return {#id, symbol};
    switch (op) {
#include "runtime/ops/op_names.inc"
    case GGML_OP_COUNT: break;
    }
#undef OP
    return {"UNKNOWN", "?"};
}

} // namespace
} // namespace ggml

const char * ggml_op_name(ggml_op op) { return ggml::op_names(op).name; }

const char * ggml_op_symbol(ggml_op op) { return ggml::op_names(op).symbol; }

const char * ggml_unary_op_name(ggml_unary_op op) {
#define OP(id)                                                                                               \
    case GGML_UNARY_OP_##id: return #id;
    switch (op) {
        // clang-format off
        OP(ABS)
        OP(SGN)
        OP(NEG)
        OP(STEP)
        OP(TANH)
        OP(ELU)
        OP(RELU)
        OP(SIGMOID)
        OP(GELU)
        OP(GELU_QUICK)
        OP(SILU)
        OP(HARDSWISH)
        OP(HARDSIGMOID)
        OP(EXP)
        OP(EXPM1)
        OP(SOFTPLUS)
        OP(GELU_ERF)
        OP(XIELU)
        OP(FLOOR)
        OP(CEIL)
        OP(ROUND)
        OP(TRUNC)
        // clang-format on
    case GGML_UNARY_OP_COUNT: break;
    }
#undef OP
    return "UNKNOWN";
}

const char * ggml_glu_op_name(ggml_glu_op op) {
#define OP(id)                                                                                               \
    case GGML_GLU_OP_##id: return #id;
    switch (op) {
        // clang-format off
        OP(REGLU)
        OP(GEGLU)
        OP(SWIGLU)
        OP(SWIGLU_OAI)
        OP(GEGLU_ERF)
        OP(GEGLU_QUICK)
        // clang-format on
    case GGML_GLU_OP_COUNT: break;
    }
#undef OP
    return "UNKNOWN";
}

const char * ggml_op_desc(const ggml_tensor * t) {
    if (t->op == GGML_OP_UNARY) return ggml_unary_op_name(ggml_get_unary_op(t));
    if (t->op == GGML_OP_GLU) return ggml_glu_op_name(ggml_get_glu_op(t));
    if (const ggml::ExtensionOpHead * op = ggml::extension_op(t)) return op->name;
    return ggml_op_name(t->op);
}
