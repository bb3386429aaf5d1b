#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

namespace ggml {
namespace {

ggml_tensor * diag_mask(ggml_context * ctx, const char * name, ggml_op op, ggml_tensor * a, int n_past,
                        bool inplace) {
    ggml_tensor * result = result_like(ctx, name, a, inplace);
    set_params(result, DiagMaskParams{n_past});
    return as_node(result, op, {a});
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_get_rows(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    const char * name = "ggml_get_rows";
    GGML_SHAPE_CHECK(b->type == GGML_TYPE_I32, name, "row numbers are not i32", a, b);
    GGML_SHAPE_CHECK(a->ne[2] == b->ne[1] && a->ne[3] == b->ne[2] && b->ne[3] == 1, name,
                     "there is not one list of row numbers per matrix", a, b);
    const ggml_type type = a->type == GGML_TYPE_I32 ? GGML_TYPE_I32 : GGML_TYPE_F32;
    ggml_tensor * result =
        ggml::new_result(ctx, name, type, {a->ne[0], b->ne[0], b->ne[1], b->ne[2]}, {a, b});
    return ggml::as_node(result, GGML_OP_GET_ROWS, {a, b});
}

// Sources are b, c, a in this order: what is written comes first, as programs that inspect graphs expect.
ggml_tensor * ggml_set_rows(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, ggml_tensor * c) {
    const char * name = "ggml_set_rows";
    GGML_SHAPE_CHECK(a->ne[0] == b->ne[0] && a->ne[2] == b->ne[2] && a->ne[3] == b->ne[3], name,
                     "the rows of b do not fit into a", a, b, c);
    GGML_SHAPE_CHECK(b->ne[1] == c->ne[0] && ggml::repeats_into(c->ne[1], b->ne[2]) &&
                         ggml::repeats_into(c->ne[2], b->ne[3]) && c->ne[3] == 1,
                     name, "there is not one row number per row of b", a, b, c);
    GGML_SHAPE_CHECK(b->type == GGML_TYPE_F32 || b->type == GGML_TYPE_F16, name, "b is neither f32 nor f16",
                     a, b, c);
    GGML_SHAPE_CHECK(c->type == GGML_TYPE_I64 || c->type == GGML_TYPE_I32, name,
                     "row numbers are neither i64 nor i32", a, b, c);
    GGML_SHAPE_CHECK(ggml_is_contiguous_rows(a) && ggml_is_contiguous_rows(b), name,
                     "rows of a or b are not contiguous", a, b, c);
    return ggml::as_node(ggml_view_tensor(ctx, a), GGML_OP_SET_ROWS, {b, c, a});
}

ggml_tensor * ggml_diag(ggml_context * ctx, ggml_tensor * a) {
    GGML_SHAPE_CHECK(a->ne[1] == 1, "ggml_diag", "a holds more than one row per matrix", a);
    ggml_tensor * result =
        ggml::new_result(ctx, "ggml_diag", a->type, {a->ne[0], a->ne[0], a->ne[2], a->ne[3]}, {a});
    return ggml::as_node(result, GGML_OP_DIAG, {a});
}

ggml_tensor * ggml_diag_mask_inf(ggml_context * ctx, ggml_tensor * a, int n_past) {
    return ggml::diag_mask(ctx, "ggml_diag_mask_inf", GGML_OP_DIAG_MASK_INF, a, n_past, false);
}

ggml_tensor * ggml_diag_mask_inf_inplace(ggml_context * ctx, ggml_tensor * a, int n_past) {
    return ggml::diag_mask(ctx, "ggml_diag_mask_inf", GGML_OP_DIAG_MASK_INF, a, n_past, true);
}

ggml_tensor * ggml_diag_mask_zero(ggml_context * ctx, ggml_tensor * a, int n_past) {
    return ggml::diag_mask(ctx, "ggml_diag_mask_zero", GGML_OP_DIAG_MASK_ZERO, a, n_past, false);
}

ggml_tensor * ggml_diag_mask_zero_inplace(ggml_context * ctx, ggml_tensor * a, int n_past) {
    return ggml::diag_mask(ctx, "ggml_diag_mask_zero", GGML_OP_DIAG_MASK_ZERO, a, n_past, true);
}

ggml_tensor * ggml_tri(ggml_context * ctx, ggml_tensor * a, ggml_tri_type type) {
    const char * name = "ggml_tri";
    GGML_SHAPE_CHECK(a->type == GGML_TYPE_F32, name, "a is not f32", a);
    GGML_SHAPE_CHECK(ggml_is_contiguous(a), name, "a is not contiguous", a);
    GGML_SHAPE_CHECK(a->ne[0] == a->ne[1], name, "the matrices of a are not square", a);
    GGML_SHAPE_CHECK(type >= GGML_TRI_TYPE_UPPER_DIAG && type <= GGML_TRI_TYPE_LOWER, name,
                     "there is no such triangle", a);
    ggml_tensor * result = ggml::result_like(ctx, name, a, false);
    ggml::set_params(result, ggml::TriParams{type});
    return ggml::as_node(result, GGML_OP_TRI, {a});
}
