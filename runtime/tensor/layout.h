// Questions about where a tensor's elements lie, answered from metadata alone (ne, nb, type). Nothing here
// touches tensor data. Dimension 0 is the innermost one; strides are bytes.
#pragma once

#include "ggml.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace ggml {

using Shape = std::array<int64_t, GGML_MAX_DIMS>;
using Strides = std::array<size_t, GGML_MAX_DIMS>;

inline Shape shape_of(const ggml_tensor * t) { return {t->ne[0], t->ne[1], t->ne[2], t->ne[3]}; }

// Coordinates of a row: dimensions 1..3.
struct RowIndex {
    int64_t i1, i2, i3;
};

// Row number counted with dimension 1 fastest, as ggml_nrows counts. ne[1] and ne[2] must not be 0.
inline RowIndex row_index(const ggml_tensor * t, int64_t row) {
    const int64_t plane = t->ne[1] * t->ne[2];
    const int64_t i3 = row / plane;
    const int64_t rest = row - i3 * plane;
    const int64_t i2 = rest / t->ne[1];
    return {rest - i2 * t->ne[1], i2, i3};
}

inline size_t row_offset(const ggml_tensor * t, RowIndex r) {
    return size_t(r.i1) * t->nb[1] + size_t(r.i2) * t->nb[2] + size_t(r.i3) * t->nb[3];
}

// Row of an operand that repeats into the result: each coordinate wraps at the operand's own size.
inline size_t repeated_row_offset(const ggml_tensor * t, RowIndex r) {
    return row_offset(t, {r.i1 % t->ne[1], r.i2 % t->ne[2], r.i3 % t->ne[3]});
}

template <class T>
inline const T * row_at(const ggml_tensor * t, size_t offset) {
    return reinterpret_cast<const T *>(static_cast<const char *>(t->data) + offset);
}
template <class T>
inline T * row_at(ggml_tensor * t, size_t offset) {
    return reinterpret_cast<T *>(static_cast<char *>(t->data) + offset);
}

// Contiguous strides of a shape. False when a product overflows or ne[0] is not a multiple of the block size.
[[nodiscard]] bool contiguous_strides(ggml_type type, const Shape & ne, Strides & nb);

// Bytes from the first to one past the last element, for any strides; 0 for an empty tensor; false on
// overflow.
[[nodiscard]] bool span_bytes(ggml_type type, const Shape & ne, const Strides & nb, size_t & bytes);

} // namespace ggml
