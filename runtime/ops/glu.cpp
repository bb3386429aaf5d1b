#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

namespace ggml {
namespace {

// One operand holds both halves in its rows (b null), or each half is an operand.
ggml_tensor * glu(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, GluParams params) {
    const char * name = b ? "ggml_glu_split" : "ggml_glu";
    GGML_SHAPE_CHECK(params.op >= 0 && params.op < GGML_GLU_OP_COUNT, name, "there is no such gate", a, b);
    GGML_SHAPE_CHECK(ggml_is_contiguous_1(a), name, "a has gaps other than between its rows", a, b);
    Extents ne = extents_of(a);
    if (b) {
        GGML_SHAPE_CHECK(ggml_is_contiguous_1(b), name, "b has gaps other than between its rows", a, b);
        GGML_SHAPE_CHECK(ggml_are_same_shape(a, b) && a->type == b->type, name,
                         "a and b differ in shape or type", a, b);
    } else {
        ne[0] = ne[0] / 2; // the last element of an odd row has no partner and is not read
    }
    ggml_tensor * result = new_result(ctx, name, a->type, ne, {a, b});
    set_params(result, params);
    return as_node(result, GGML_OP_GLU, {a, b});
}

} // namespace
} // namespace ggml

#define CONVROT_GLU(name, op)                                                                                \
    ggml_tensor * ggml_##name(ggml_context * ctx, ggml_tensor * a) { return ggml_glu(ctx, a, op, false); }   \
    ggml_tensor * ggml_##name##_swapped(ggml_context * ctx, ggml_tensor * a) {                               \
        return ggml_glu(ctx, a, op, true);                                                                   \
    }                                                                                                        \
    ggml_tensor * ggml_##name##_split(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {                \
        return ggml_glu_split(ctx, a, b, op);                                                                \
    }

CONVROT_GLU(reglu, GGML_GLU_OP_REGLU)
CONVROT_GLU(geglu, GGML_GLU_OP_GEGLU)
CONVROT_GLU(swiglu, GGML_GLU_OP_SWIGLU)
CONVROT_GLU(geglu_erf, GGML_GLU_OP_GEGLU_ERF)
CONVROT_GLU(geglu_quick, GGML_GLU_OP_GEGLU_QUICK)

#undef CONVROT_GLU

ggml_tensor * ggml_glu(ggml_context * ctx, ggml_tensor * a, ggml_glu_op op, bool swapped) {
    return ggml::glu(ctx, a, nullptr, {op, swapped, 0.0f, 0.0f});
}

ggml_tensor * ggml_glu_split(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, ggml_glu_op op) {
    return ggml::glu(ctx, a, b, {op, false, 0.0f, 0.0f});
}

ggml_tensor * ggml_swiglu_oai(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, float alpha,
                              float limit) {
    return ggml::glu(ctx, a, b, {GGML_GLU_OP_SWIGLU_OAI, false, alpha, limit});
}

ggml_glu_op ggml_get_glu_op(const ggml_tensor * tensor) {
    GGML_SHAPE_CHECK(tensor->op == GGML_OP_GLU, "ggml_get_glu_op", "not a glu node", tensor);
    return ggml_glu_op(ggml::get_params<ggml::GluParams>(tensor).op);
}
