#include "runtime/ops/build.h"

namespace ggml {
namespace {

ggml_tensor * binary(ggml_context * ctx, const char * name, ggml_op op, ggml_tensor * a, ggml_tensor * b,
                     bool inplace) {
    GGML_SHAPE_CHECK(ggml_can_repeat(b, a), name, "b does not repeat into a", a, b);
    return as_node(result_like(ctx, name, a, inplace), op, {a, b});
}

ggml_tensor * add_scalar(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, bool inplace) {
    GGML_SHAPE_CHECK(ggml_is_scalar(b), "ggml_add1", "b is not a scalar", a, b);
    GGML_SHAPE_CHECK(has_padded_rows(a), "ggml_add1", "a has gaps other than between its rows", a, b);
    return as_node(result_like(ctx, "ggml_add1", a, inplace), GGML_OP_ADD1, {a, b});
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_add(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    return ggml::binary(ctx, "ggml_add", GGML_OP_ADD, a, b, false);
}

ggml_tensor * ggml_add_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    return ggml::binary(ctx, "ggml_add", GGML_OP_ADD, a, b, true);
}

ggml_tensor * ggml_sub(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    return ggml::binary(ctx, "ggml_sub", GGML_OP_SUB, a, b, false);
}

ggml_tensor * ggml_sub_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    return ggml::binary(ctx, "ggml_sub", GGML_OP_SUB, a, b, true);
}

ggml_tensor * ggml_mul(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    return ggml::binary(ctx, "ggml_mul", GGML_OP_MUL, a, b, false);
}

ggml_tensor * ggml_mul_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    return ggml::binary(ctx, "ggml_mul", GGML_OP_MUL, a, b, true);
}

ggml_tensor * ggml_div(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    return ggml::binary(ctx, "ggml_div", GGML_OP_DIV, a, b, false);
}

ggml_tensor * ggml_div_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    return ggml::binary(ctx, "ggml_div", GGML_OP_DIV, a, b, true);
}

ggml_tensor * ggml_add_cast(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, ggml_type type) {
    GGML_SHAPE_CHECK(a->ne[0] == b->ne[0] && ggml_can_repeat(b, a), "ggml_add_cast",
                     "the rows of b do not repeat into a", a, b);
    GGML_SHAPE_CHECK(ggml_is_quantized(a->type) || a->type == GGML_TYPE_F16 || a->type == GGML_TYPE_BF16,
                     "ggml_add_cast", "a is neither quantized nor a 16-bit float", a, b);
    ggml_tensor * result = ggml::new_result(ctx, "ggml_add_cast", type, ggml::extents_of(a), {a, b});
    return ggml::as_node(result, GGML_OP_ADD, {a, b});
}

ggml_tensor * ggml_add_id(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, ggml_tensor * ids) {
    GGML_SHAPE_CHECK(a->ne[0] == b->ne[0], "ggml_add_id", "a and b differ in row length", a, b, ids);
    GGML_SHAPE_CHECK(a->ne[1] == ids->ne[0] && a->ne[2] == ids->ne[1], "ggml_add_id",
                     "there is not one id per row of a", a, b, ids);
    GGML_SHAPE_CHECK(ids->type == GGML_TYPE_I32, "ggml_add_id", "ids are not i32", a, b, ids);
    return ggml::as_node(ggml::result_like(ctx, "ggml_add_id", a, false), GGML_OP_ADD_ID, {a, b, ids});
}

ggml_tensor * ggml_add1(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    return ggml::add_scalar(ctx, a, b, false);
}

ggml_tensor * ggml_add1_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    return ggml::add_scalar(ctx, a, b, true);
}
