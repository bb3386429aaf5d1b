#include "runtime/tensor/layout.h"

#include "runtime/base/check.h"
#include "runtime/base/math.h"
#include "runtime/tensor/types.h"

#include <algorithm>

namespace ggml {

bool contiguous_strides(ggml_type type, const Shape & ne, Strides & nb) {
    const TypeInfo & info = type_info(type);
    if (info.block == 0 || ne[0] % info.block != 0) return false;

    // Counted as if empty dimensions had one element: then neither the bytes nor any partial product of the
    // dimensions (rows of an empty tensor, say) can overflow later, in signed 64-bit arithmetic.
    int64_t elements = 1;
    for (const int64_t n : ne) {
        if (n < 0 || !checked_mul(elements, std::max<int64_t>(n, 1), elements)) return false;
    }
    int64_t bytes = 0;
    if (!checked_mul(ceil_div(elements - 1, info.block) + 1, int64_t(info.bytes), bytes)) return false;

    nb[0] = info.bytes;
    nb[1] = nb[0] * size_t(ne[0] / info.block);
    for (int i = 2; i < GGML_MAX_DIMS; ++i) nb[i] = nb[i - 1] * size_t(ne[i - 1]);
    return true;
}

bool span_bytes(ggml_type type, const Shape & ne, const Strides & nb, size_t & bytes) {
    const TypeInfo & info = type_info(type);
    bytes = 0;
    if (info.block == 0) return false;
    if (std::any_of(ne.begin(), ne.end(), [](int64_t n) { return n <= 0; })) return true;

    size_t total = info.bytes;
    const auto extend = [&total](int64_t steps, size_t stride) {
        size_t reach = 0;
        return checked_mul(size_t(steps), stride, reach) && checked_add(total, reach, total);
    };
    if (info.block == 1) {
        if (!extend(ne[0] - 1, nb[0])) return false;
    } else {
        // ne[0] * nb[0] / block without the large product. A row shorter than a block counts its part of one
        // as ggml does.
        size_t part = 0;
        if (!checked_mul(size_t(ne[0] % info.block), nb[0], part)) return false;
        total = part / size_t(info.block);
        if (!extend(ne[0] / info.block, nb[0])) return false;
    }
    for (int i = 1; i < GGML_MAX_DIMS; ++i) {
        if (!extend(ne[i] - 1, nb[i])) return false;
    }
    bytes = total;
    return true;
}

} // namespace ggml

int64_t ggml_nelements(const ggml_tensor * t) { return t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]; }

int64_t ggml_nrows(const ggml_tensor * t) { return t->ne[1] * t->ne[2] * t->ne[3]; }

size_t ggml_nbytes(const ggml_tensor * t) {
    size_t bytes = 0;
    const bool fits =
        ggml::span_bytes(t->type, ggml::shape_of(t), {t->nb[0], t->nb[1], t->nb[2], t->nb[3]}, bytes);
    GGML_SHAPE_CHECK(fits, "ggml_nbytes", "the size does not fit into a size_t", t);
    return bytes;
}

size_t ggml_nbytes_pad(const ggml_tensor * t) { return ggml::align_up(ggml_nbytes(t), GGML_MEM_ALIGN); }

size_t ggml_element_size(const ggml_tensor * t) { return ggml_type_size(t->type); }

int ggml_n_dims(const ggml_tensor * t) {
    for (int i = GGML_MAX_DIMS - 1; i >= 1; --i) {
        if (t->ne[i] > 1) return i + 1;
    }
    return 1;
}

void ggml_unravel_index(const ggml_tensor * t, int64_t i, int64_t * i0, int64_t * i1, int64_t * i2,
                        int64_t * i3) {
    GGML_SHAPE_CHECK(!ggml_is_empty(t), "ggml_unravel_index", "the tensor has no elements", t);
    int64_t * const out[GGML_MAX_DIMS] = {i0, i1, i2, i3};
    for (int d = 0; d < GGML_MAX_DIMS; ++d) {
        // The last coordinate takes all that is left, also when the index lies past the end.
        const int64_t rest = d + 1 < GGML_MAX_DIMS ? i / t->ne[d] : 0;
        if (out[d]) *out[d] = i - rest * t->ne[d];
        i = rest;
    }
}
