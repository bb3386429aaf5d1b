#include "runtime/ops/build.h"

namespace ggml {
namespace {

ggml_tensor * dup(ggml_context * ctx, ggml_tensor * a, bool inplace) {
    return as_node(result_like(ctx, "ggml_dup", a, inplace), GGML_OP_DUP, {a});
}

ggml_tensor * cont(ggml_context * ctx, ggml_tensor * a, const Extents & ne) {
    GGML_SHAPE_CHECK(count_of(ne) == ggml_nelements(a), "ggml_cont",
                     "the new shape has another element count", a);
    ggml_tensor * result = new_result(ctx, "ggml_cont", a->type, ne, {a});
    ggml_format_name(result, "%s (cont)", a->name);
    return as_node(result, GGML_OP_CONT, {a});
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_dup(ggml_context * ctx, ggml_tensor * a) { return ggml::dup(ctx, a, false); }

ggml_tensor * ggml_dup_inplace(ggml_context * ctx, ggml_tensor * a) { return ggml::dup(ctx, a, true); }

// The destination is a source as well, so that a graph orders the write after everything b depends on.
ggml_tensor * ggml_cpy(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    GGML_SHAPE_CHECK(ggml_nelements(a) == ggml_nelements(b), "ggml_cpy", "a and b differ in element count", a,
                     b);
    ggml_tensor * result = ggml_view_tensor(ctx, b);
    if (b->name[0] != '\0') {
        ggml_format_name(result, "%s (copy of %s)", b->name, a->name);
    } else {
        ggml_format_name(result, "%s (copy)", a->name);
    }
    return ggml::as_node(result, GGML_OP_CPY, {a, b});
}

// Same operator as ggml_cpy, with the result as its own destination.
ggml_tensor * ggml_cast(ggml_context * ctx, ggml_tensor * a, ggml_type type) {
    ggml_tensor * result = ggml::new_result(ctx, "ggml_cast", type, ggml::extents_of(a), {a});
    ggml_format_name(result, "%s (copy)", a->name);
    return ggml::as_node(result, GGML_OP_CPY, {a, result});
}

ggml_tensor * ggml_cont(ggml_context * ctx, ggml_tensor * a) {
    return ggml::cont(ctx, a, ggml::extents_of(a));
}

ggml_tensor * ggml_cont_1d(ggml_context * ctx, ggml_tensor * a, int64_t ne0) {
    return ggml::cont(ctx, a, {ne0, 1, 1, 1});
}

ggml_tensor * ggml_cont_2d(ggml_context * ctx, ggml_tensor * a, int64_t ne0, int64_t ne1) {
    return ggml::cont(ctx, a, {ne0, ne1, 1, 1});
}

ggml_tensor * ggml_cont_3d(ggml_context * ctx, ggml_tensor * a, int64_t ne0, int64_t ne1, int64_t ne2) {
    return ggml::cont(ctx, a, {ne0, ne1, ne2, 1});
}

ggml_tensor * ggml_cont_4d(ggml_context * ctx, ggml_tensor * a, int64_t ne0, int64_t ne1, int64_t ne2,
                           int64_t ne3) {
    return ggml::cont(ctx, a, {ne0, ne1, ne2, ne3});
}
