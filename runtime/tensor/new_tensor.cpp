#include "runtime/base/check.h"
#include "runtime/base/math.h"
#include "runtime/tensor/context.h"
#include "runtime/tensor/layout.h"
#include "runtime/tensor/object.h"
#include "runtime/tensor/types.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <new>

namespace ggml {
namespace {

// A tensor that exists only to be named in a message, since the real one cannot be built.
[[noreturn]] void refuse(const char * reason, ggml_type type, const Shape & ne, const ggml_tensor * owner) {
    ggml_tensor wanted = {};
    wanted.type = type;
    std::copy(ne.begin(), ne.end(), wanted.ne);
    if (owner) shape_failure(__FILE__, __LINE__, "view", reason, {&wanted, owner});
    shape_failure(__FILE__, __LINE__, "new tensor", reason, {&wanted});
}

// Says which condition of contiguous_strides a shape breaks.
[[noreturn]] void refuse_shape(ggml_type type, const Shape & ne, const ggml_tensor * owner) {
    const TypeInfo & info = type_info(type);
    if (std::any_of(ne.begin(), ne.end(), [](int64_t n) { return n < 0; })) {
        refuse("a dimension is negative", type, ne, owner);
    }
    if (ne[0] % info.block != 0) {
        char reason[128];
        std::snprintf(reason, sizeof reason, "%s rows must be a multiple of %" PRId64 ", got %" PRId64,
                      info.name, int64_t(info.block), ne[0]);
        refuse(reason, type, ne, owner);
    }
    refuse("too large for memory addresses", type, ne, owner);
}

void check_view_bounds(ggml_type type, const Shape & ne, const Strides & nb, const ggml_tensor * owner,
                       size_t offset) {
    size_t bytes = 0;
    size_t end = 0;
    const bool fits = span_bytes(type, ne, nb, bytes) && checked_add(bytes, offset, end);
    if (!fits || (bytes != 0 && end > ggml_nbytes(owner))) {
        refuse("reaches past the end of its source", type, ne, owner);
    }
}

} // namespace

ggml_tensor * new_tensor_impl(ggml_context * ctx, ggml_type type, int n_dims, const int64_t * ne,
                              ggml_tensor * view_src, size_t view_offs) {
    if (n_dims < 1 || n_dims > GGML_MAX_DIMS) {
        GGML_ABORT("new tensor: %d dimensions, 1 to %d are possible", n_dims, GGML_MAX_DIMS);
    }
    Shape shape = {1, 1, 1, 1};
    std::copy(ne, ne + n_dims, shape.begin());

    if (type_info(type).block == 0) GGML_ABORT("new tensor: type id %d does not exist", int(type));
    Strides strides;
    if (!contiguous_strides(type, shape, strides)) refuse_shape(type, shape, view_src);

    if (view_src != nullptr && view_src->view_src != nullptr) {
        if (!checked_add(view_offs, view_src->view_offs, view_offs)) {
            refuse("offset overflows", type, shape, view_src);
        }
        view_src = view_src->view_src;
    }
    if (view_src != nullptr) check_view_bounds(type, shape, strides, view_src, view_offs);

    const size_t data_bytes = strides[3] * size_t(shape[3]);
    const bool stores_data = view_src == nullptr && !ctx->no_alloc && data_bytes > 0;
    size_t object_bytes = sizeof(ggml_tensor);
    if (stores_data && !checked_add(object_bytes, data_bytes, object_bytes)) {
        refuse("too large for memory", type, shape, nullptr);
    }

    auto * t = new (arena_new(ctx, GGML_OBJECT_TYPE_TENSOR, object_bytes)) ggml_tensor{};
    t->type = type;
    std::copy(shape.begin(), shape.end(), t->ne);
    std::copy(strides.begin(), strides.end(), t->nb);
    t->view_src = view_src;
    t->view_offs = view_offs;
    if (stores_data) {
        t->data = t + 1;
    } else if (view_src != nullptr && view_src->data != nullptr) {
        t->data = static_cast<char *>(view_src->data) + view_offs;
    }
    return t;
}

ggml_tensor * try_new_tensor(ggml_context * ctx, ggml_type type, const Shape & ne) {
    Strides nb;
    size_t bytes = sizeof(ggml_tensor);
    if (!contiguous_strides(type, ne, nb)) return nullptr;
    if (!ctx->no_alloc && !checked_add(bytes, nb[3] * size_t(ne[3]), bytes)) return nullptr;
    return arena_has_room(ctx, bytes) ? new_tensor_impl(ctx, type, GGML_MAX_DIMS, ne.data(), nullptr, 0)
                                      : nullptr;
}

} // namespace ggml

size_t ggml_tensor_overhead() { return ggml::arena_object_bytes(sizeof(ggml_tensor)); }

ggml_tensor * ggml_new_tensor(ggml_context * ctx, ggml_type type, int n_dims, const int64_t * ne) {
    return ggml::new_tensor_impl(ctx, type, n_dims, ne, nullptr, 0);
}

ggml_tensor * ggml_new_tensor_1d(ggml_context * ctx, ggml_type type, int64_t ne0) {
    return ggml_new_tensor(ctx, type, 1, &ne0);
}

ggml_tensor * ggml_new_tensor_2d(ggml_context * ctx, ggml_type type, int64_t ne0, int64_t ne1) {
    const int64_t ne[] = {ne0, ne1};
    return ggml_new_tensor(ctx, type, 2, ne);
}

ggml_tensor * ggml_new_tensor_3d(ggml_context * ctx, ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2) {
    const int64_t ne[] = {ne0, ne1, ne2};
    return ggml_new_tensor(ctx, type, 3, ne);
}

ggml_tensor * ggml_new_tensor_4d(ggml_context * ctx, ggml_type type, int64_t ne0, int64_t ne1, int64_t ne2,
                                 int64_t ne3) {
    const int64_t ne[] = {ne0, ne1, ne2, ne3};
    return ggml_new_tensor(ctx, type, 4, ne);
}

ggml_tensor * ggml_dup_tensor(ggml_context * ctx, const ggml_tensor * src) {
    return ggml_new_tensor(ctx, src->type, GGML_MAX_DIMS, src->ne);
}

ggml_tensor * ggml_view_tensor(ggml_context * ctx, ggml_tensor * src) {
    ggml_tensor * view = ggml::new_tensor_impl(ctx, src->type, GGML_MAX_DIMS, src->ne, src, 0);
    std::copy(src->nb, src->nb + GGML_MAX_DIMS, view->nb);
    return ggml_format_name(view, "%s (view)", src->name);
}
