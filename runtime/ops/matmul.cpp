#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

namespace ggml {
namespace {

// Matrices of a repeat along the batch dimensions of b.
bool batches_repeat(const ggml_tensor * a, const ggml_tensor * b) {
    return repeats_into(a->ne[2], b->ne[2]) && repeats_into(a->ne[3], b->ne[3]);
}

// Rows of no elements lie in no direction.
bool is_transposed(const ggml_tensor * t) { return !ggml_is_empty(t) && ggml_is_transposed(t); }

MulMatParams mul_mat_params(const char * name, const ggml_tensor * node) {
    GGML_SHAPE_CHECK(node->op == GGML_OP_MUL_MAT, name, "not a mul_mat node", node);
    return get_params<MulMatParams>(node);
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_mul_mat(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    const char * name = "ggml_mul_mat";
    GGML_SHAPE_CHECK(a->ne[0] == b->ne[0], name, "rows of a and b differ in length", a, b);
    GGML_SHAPE_CHECK(ggml::batches_repeat(a, b), name, "a does not repeat along the batches of b", a, b);
    GGML_SHAPE_CHECK(!ggml::is_transposed(a), name, "a is transposed", a, b);
    ggml_tensor * result =
        ggml::new_result(ctx, name, GGML_TYPE_F32, {a->ne[1], b->ne[1], b->ne[2], b->ne[3]}, {a, b});
    return ggml::as_node(result, GGML_OP_MUL_MAT, {a, b});
}

void ggml_mul_mat_set_prec(ggml_tensor * a, ggml_prec prec) {
    ggml::MulMatParams params = ggml::mul_mat_params("ggml_mul_mat_set_prec", a);
    params.prec = prec;
    ggml::set_params(a, params);
}

void ggml_mul_mat_set_hint(ggml_tensor * a, ggml_op_hint hint) {
    ggml::MulMatParams params = ggml::mul_mat_params("ggml_mul_mat_set_hint", a);
    params.hint = hint;
    ggml::set_params(a, params);
}

ggml_tensor * ggml_mul_mat_id(ggml_context * ctx, ggml_tensor * as, ggml_tensor * b, ggml_tensor * ids) {
    const char * name = "ggml_mul_mat_id";
    GGML_SHAPE_CHECK(!ggml::is_transposed(as), name, "the matrices are transposed", as, b, ids);
    GGML_SHAPE_CHECK(as->ne[3] == 1 && b->ne[3] == 1, name, "an operand has four dimensions", as, b, ids);
    GGML_SHAPE_CHECK(ids->type == GGML_TYPE_I32 && ggml_is_matrix(ids), name, "ids are not an i32 matrix", as,
                     b, ids);
    GGML_SHAPE_CHECK(ids->ne[1] == b->ne[2], name, "there is not one list of ids per token", as, b, ids);
    GGML_SHAPE_CHECK(as->ne[0] == b->ne[0], name, "rows of the matrices and of b differ in length", as, b,
                     ids);
    GGML_SHAPE_CHECK(ggml::repeats_into(b->ne[1], ids->ne[0]), name, "b does not repeat along the ids", as, b,
                     ids);
    ggml_tensor * result =
        ggml::new_result(ctx, name, GGML_TYPE_F32, {as->ne[1], ids->ne[0], b->ne[2], 1}, {as, b, ids});
    return ggml::as_node(result, GGML_OP_MUL_MAT_ID, {as, b, ids});
}

ggml_tensor * ggml_out_prod(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    const char * name = "ggml_out_prod";
    GGML_SHAPE_CHECK(a->ne[1] == b->ne[1], name, "a and b differ in the number of rows", a, b);
    GGML_SHAPE_CHECK(ggml::batches_repeat(a, b), name, "a does not repeat along the batches of b", a, b);
    GGML_SHAPE_CHECK(!ggml::is_transposed(a), name, "a is transposed", a, b);
    ggml_tensor * result =
        ggml::new_result(ctx, name, GGML_TYPE_F32, {a->ne[0], b->ne[0], b->ne[2], b->ne[3]}, {a, b});
    return ggml::as_node(result, GGML_OP_OUT_PROD, {a, b});
}
