#include "runtime/ops/build.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/context.h"
#include "runtime/tensor/types.h"

#include <algorithm>

namespace ggml {
namespace {

ggml_tensor * reshape(ggml_context * ctx, ggml_tensor * a, const Extents & ne) {
    const char * name = "ggml_reshape";
    GGML_SHAPE_CHECK(ggml_is_contiguous(a), name, "a is not contiguous", a);
    GGML_SHAPE_CHECK(count_of(ne) == ggml_nelements(a), name, "the new shape has another element count", a);
    Shape shape{};
    for (int i = 0; i < GGML_MAX_DIMS; ++i) shape[i] = ne[i].value();
    Strides strides;
    GGML_SHAPE_CHECK(contiguous_strides(a->type, shape, strides), name,
                     "the new shape is negative or has rows of broken blocks", a);
    ggml_tensor * result = new_tensor_impl(ctx, a->type, GGML_MAX_DIMS, shape.data(), a, 0);
    ggml_format_name(result, "%s (reshaped)", a->name);
    return as_node(result, GGML_OP_RESHAPE, {a});
}

// Bytes from a's first element to the end of the memory it looks into.
size_t bytes_behind(const ggml_tensor * a) {
    if (a->view_src == nullptr) return ggml_nbytes(a);
    const size_t bytes = ggml_nbytes(a->view_src);
    return a->view_offs < bytes ? bytes - a->view_offs : 0; // an empty view may start anywhere
}

// Strides of dimensions 1..n_dims-1 are the caller's; each one beyond starts where the dimension below it
// ends.
ggml_tensor * view(ggml_context * ctx, ggml_tensor * a, int n_dims, const Shape & ne, const Strides & asked,
                   size_t offset) {
    const char * name = "ggml_view";
    Strides nb;
    GGML_SHAPE_CHECK(contiguous_strides(a->type, ne, nb), name,
                     "the window is negative, too large or has rows of broken blocks", a);
    std::copy(asked.begin() + 1, asked.begin() + n_dims, nb.begin() + 1);
    for (int i = n_dims; i > 1 && i < GGML_MAX_DIMS; ++i) {
        GGML_SHAPE_CHECK(checked_mul(nb[i - 1], size_t(ne[i - 1]), nb[i]), name, "a stride overflows", a);
    }
    size_t bytes = 0, end = 0;
    const bool inside = span_bytes(a->type, ne, nb, bytes) && checked_add(offset, bytes, end) &&
                        (bytes == 0 || end <= bytes_behind(a));
    GGML_SHAPE_CHECK(inside, name, "the window reaches past the end of a", a);

    ggml_tensor * result = new_tensor_impl(ctx, a->type, n_dims, ne.data(), a, offset);
    std::copy(nb.begin(), nb.end(), result->nb);
    ggml_format_name(result, "%s (view)", a->name);
    set_params(result, ViewParams{offset});
    return as_node(result, GGML_OP_VIEW, {a});
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_reshape(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    return ggml::reshape(ctx, a, ggml::extents_of(b));
}

ggml_tensor * ggml_reshape_1d(ggml_context * ctx, ggml_tensor * a, int64_t ne0) {
    return ggml::reshape(ctx, a, {ne0, 1, 1, 1});
}

ggml_tensor * ggml_reshape_2d(ggml_context * ctx, ggml_tensor * a, int64_t ne0, int64_t ne1) {
    return ggml::reshape(ctx, a, {ne0, ne1, 1, 1});
}

ggml_tensor * ggml_reshape_3d(ggml_context * ctx, ggml_tensor * a, int64_t ne0, int64_t ne1, int64_t ne2) {
    return ggml::reshape(ctx, a, {ne0, ne1, ne2, 1});
}

ggml_tensor * ggml_reshape_4d(ggml_context * ctx, ggml_tensor * a, int64_t ne0, int64_t ne1, int64_t ne2,
                              int64_t ne3) {
    return ggml::reshape(ctx, a, {ne0, ne1, ne2, ne3});
}

ggml_tensor * ggml_view_1d(ggml_context * ctx, ggml_tensor * a, int64_t ne0, size_t offset) {
    return ggml::view(ctx, a, 1, {ne0, 1, 1, 1}, {}, offset);
}

ggml_tensor * ggml_view_2d(ggml_context * ctx, ggml_tensor * a, int64_t ne0, int64_t ne1, size_t nb1,
                           size_t offset) {
    return ggml::view(ctx, a, 2, {ne0, ne1, 1, 1}, {0, nb1}, offset);
}

ggml_tensor * ggml_view_3d(ggml_context * ctx, ggml_tensor * a, int64_t ne0, int64_t ne1, int64_t ne2,
                           size_t nb1, size_t nb2, size_t offset) {
    return ggml::view(ctx, a, 3, {ne0, ne1, ne2, 1}, {0, nb1, nb2}, offset);
}

ggml_tensor * ggml_view_4d(ggml_context * ctx, ggml_tensor * a, int64_t ne0, int64_t ne1, int64_t ne2,
                           int64_t ne3, size_t nb1, size_t nb2, size_t nb3, size_t offset) {
    return ggml::view(ctx, a, 4, {ne0, ne1, ne2, ne3}, {0, nb1, nb2, nb3}, offset);
}

ggml_tensor * ggml_permute(ggml_context * ctx, ggml_tensor * a, int axis0, int axis1, int axis2, int axis3) {
    const int axis[GGML_MAX_DIMS] = {axis0, axis1, axis2, axis3};
    unsigned taken = 0;
    for (const int i : axis) {
        if (i >= 0 && i < GGML_MAX_DIMS) taken |= 1u << i;
    }
    GGML_SHAPE_CHECK(taken == 0xf, "ggml_permute", "the axes are not a permutation of 0, 1, 2, 3", a);

    ggml_tensor * result = ggml_view_tensor(ctx, a);
    ggml_format_name(result, "%s (permuted)", a->name);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        result->ne[axis[i]] = a->ne[i];
        result->nb[axis[i]] = a->nb[i];
    }
    ggml::set_params(result, ggml::PermuteParams{{axis0, axis1, axis2, axis3}});
    return ggml::as_node(result, GGML_OP_PERMUTE, {a});
}

ggml_tensor * ggml_transpose(ggml_context * ctx, ggml_tensor * a) {
    ggml_tensor * result = ggml_view_tensor(ctx, a);
    ggml_format_name(result, "%s (transposed)", a->name);
    std::swap(result->ne[0], result->ne[1]);
    std::swap(result->nb[0], result->nb[1]);
    return ggml::as_node(result, GGML_OP_TRANSPOSE, {a});
}
