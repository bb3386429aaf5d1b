// Windowed attention of image encoders: splitting into windows, and position terms relative to the query.
#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

namespace ggml {
namespace {

// Windows needed to cover `size` positions.
Extent windows(int64_t size, int w) { return (Extent(size) + w - 1) / w; }

ggml_tensor * add_rel_pos(ggml_context * ctx, ggml_tensor * a, ggml_tensor * pw, ggml_tensor * ph,
                          bool inplace) {
    const char * name = "ggml_add_rel_pos";
    GGML_SHAPE_CHECK(ggml_are_same_shape(pw, ph), name, "pw and ph differ in shape", a, pw, ph);
    GGML_SHAPE_CHECK(ggml_is_contiguous(a) && ggml_is_contiguous(pw) && ggml_is_contiguous(ph), name,
                     "an operand is not contiguous", a, pw, ph);
    GGML_SHAPE_CHECK(pw->type == GGML_TYPE_F32 && ph->type == GGML_TYPE_F32, name, "pw or ph is not f32", a,
                     pw, ph);
    GGML_SHAPE_CHECK(Extent(pw->ne[0]) * pw->ne[0] == a->ne[0] && Extent(pw->ne[1]) * pw->ne[2] == a->ne[1] &&
                         pw->ne[3] == a->ne[2],
                     name, "a is not the attention of the windows that pw and ph describe", a, pw, ph);
    ggml_tensor * result = result_like(ctx, name, a, inplace);
    set_params(result, AddRelPosParams{inplace});
    return as_node(result, GGML_OP_ADD_REL_POS, {a, pw, ph});
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_win_part(ggml_context * ctx, ggml_tensor * a, int w) {
    const char * name = "ggml_win_part";
    GGML_SHAPE_CHECK(a->ne[3] == 1 && a->type == GGML_TYPE_F32, name, "a is not three-dimensional f32", a);
    GGML_SHAPE_CHECK(w > 0, name, "the window size is not positive", a);
    const ggml::Extent nx = ggml::windows(a->ne[1], w);
    const ggml::Extent ny = ggml::windows(a->ne[2], w);
    GGML_SHAPE_CHECK(nx.fits_int32() && ny.fits_int32(), name, "there are too many windows", a);
    ggml_tensor * result = ggml::new_result(ctx, name, GGML_TYPE_F32, {a->ne[0], w, w, nx * ny}, {a});
    ggml::set_params(result, ggml::WinPartParams{int32_t(nx.value()), int32_t(ny.value()), w});
    return ggml::as_node(result, GGML_OP_WIN_PART, {a});
}

ggml_tensor * ggml_win_unpart(ggml_context * ctx, ggml_tensor * a, int w0, int h0, int w) {
    const char * name = "ggml_win_unpart";
    GGML_SHAPE_CHECK(a->type == GGML_TYPE_F32, name, "a is not f32", a);
    GGML_SHAPE_CHECK(w > 0 && w0 >= 0 && h0 >= 0 && a->ne[1] == w && a->ne[2] == w &&
                         ggml::windows(w0, w) * ggml::windows(h0, w) == a->ne[3],
                     name, "a is not the windows of an image of this size", a);
    ggml_tensor * result = ggml::new_result(ctx, name, GGML_TYPE_F32, {a->ne[0], w0, h0, 1}, {a});
    ggml::set_params(result, ggml::WinUnpartParams{w});
    return ggml::as_node(result, GGML_OP_WIN_UNPART, {a});
}

ggml_tensor * ggml_get_rel_pos(ggml_context * ctx, ggml_tensor * a, int qh, int kh) {
    const char * name = "ggml_get_rel_pos";
    GGML_SHAPE_CHECK(qh > 0 && qh == kh, name, "queries and keys differ in number", a);
    GGML_SHAPE_CHECK(2 * int64_t(qh) - 1 == a->ne[1], name, "a does not have one row per distance", a);
    ggml_tensor * result = ggml::new_result(ctx, name, GGML_TYPE_F16, {a->ne[0], kh, qh, 1}, {a});
    return ggml::as_node(result, GGML_OP_GET_REL_POS, {a});
}

ggml_tensor * ggml_add_rel_pos(ggml_context * ctx, ggml_tensor * a, ggml_tensor * pw, ggml_tensor * ph) {
    return ggml::add_rel_pos(ctx, a, pw, ph, false);
}

ggml_tensor * ggml_add_rel_pos_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * pw,
                                       ggml_tensor * ph) {
    return ggml::add_rel_pos(ctx, a, pw, ph, true);
}
