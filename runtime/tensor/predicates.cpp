#include "runtime/tensor/layout.h"
#include "runtime/tensor/types.h"

#include <algorithm>

namespace {

// Packed strides over dimensions below `last`, with dimensions 1..`first_packed` free to have gaps behind
// them. A dimension of one element is packed whatever its stride is.
bool is_packed(const ggml_tensor * t, int first_packed, int last) {
    const ggml::TypeInfo & info = ggml::type_info(t->type);
    size_t next = info.bytes;
    if (t->ne[0] != info.block && t->nb[0] != next) return false;
    next *= size_t(t->ne[0] / info.block);
    for (int i = 1; i < last; ++i) {
        if (i <= first_packed) {
            next = size_t(t->ne[i]) * t->nb[i];
            continue;
        }
        if (t->ne[i] != 1 && t->nb[i] != next) return false;
        next *= size_t(t->ne[i]);
    }
    return true;
}

bool ones_from(const ggml_tensor * t, int dim) {
    return std::all_of(t->ne + dim, t->ne + GGML_MAX_DIMS, [](int64_t n) { return n == 1; });
}

} // namespace

bool ggml_is_contiguous(const ggml_tensor * t) { return is_packed(t, 0, GGML_MAX_DIMS); }

bool ggml_is_contiguous_0(const ggml_tensor * t) { return is_packed(t, 0, GGML_MAX_DIMS); }

bool ggml_is_contiguous_1(const ggml_tensor * t) { return is_packed(t, 1, GGML_MAX_DIMS); }

bool ggml_is_contiguous_2(const ggml_tensor * t) { return is_packed(t, 2, GGML_MAX_DIMS); }

bool ggml_is_contiguous_to_1(const ggml_tensor * t) { return is_packed(t, 0, 1); }

bool ggml_is_contiguous_to_2(const ggml_tensor * t) { return is_packed(t, 0, 2); }

bool ggml_is_contiguous_to_3(const ggml_tensor * t) { return is_packed(t, 0, 3); }

bool ggml_is_contiguously_allocated(const ggml_tensor * t) {
    const ggml::TypeInfo & info = ggml::type_info(t->type);
    return ggml_nbytes(t) == size_t(ggml_nelements(t)) * info.bytes / size_t(info.block);
}

bool ggml_is_contiguous_channels(const ggml_tensor * t) {
    return t->nb[2] == ggml_type_size(t->type) && t->nb[0] > t->nb[2] && t->nb[1] > t->nb[0];
}

bool ggml_is_contiguous_rows(const ggml_tensor * t) {
    const ggml::TypeInfo & info = ggml::type_info(t->type);
    return t->ne[0] == info.block || t->nb[0] == info.bytes;
}

bool ggml_is_transposed(const ggml_tensor * t) { return t->nb[0] > t->nb[1]; }

bool ggml_is_permuted(const ggml_tensor * t) { return !std::is_sorted(t->nb, t->nb + GGML_MAX_DIMS); }

bool ggml_is_empty(const ggml_tensor * t) {
    return std::find(t->ne, t->ne + GGML_MAX_DIMS, 0) != t->ne + GGML_MAX_DIMS;
}

bool ggml_is_view(const ggml_tensor * t) { return t->view_src != nullptr; }

bool ggml_is_scalar(const ggml_tensor * t) { return ones_from(t, 0); }

bool ggml_is_vector(const ggml_tensor * t) { return ones_from(t, 1); }

bool ggml_is_matrix(const ggml_tensor * t) { return ones_from(t, 2); }

bool ggml_is_3d(const ggml_tensor * t) { return ones_from(t, 3); }

bool ggml_are_same_shape(const ggml_tensor * t0, const ggml_tensor * t1) {
    return std::equal(t0->ne, t0->ne + GGML_MAX_DIMS, t1->ne);
}

bool ggml_are_same_stride(const ggml_tensor * t0, const ggml_tensor * t1) {
    return std::equal(t0->nb, t0->nb + GGML_MAX_DIMS, t1->nb);
}

// An empty tensor repeats only into an empty one.
bool ggml_can_repeat(const ggml_tensor * t0, const ggml_tensor * t1) {
    if (ggml_is_empty(t0)) return ggml_is_empty(t1);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        if (t1->ne[i] % t0->ne[i] != 0) return false;
    }
    return true;
}
