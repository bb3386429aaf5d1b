// Rows (dimensions 1 to 3) of strided tensors, in ggml's order.
#pragma once

#include "ggml.h"

#include <cstdint>

namespace sd {

struct Row {
    int64_t i1, i2, i3;
};

inline Row row_number(const ggml_tensor * t, int64_t row) {
    return {row % t->ne[1], row / t->ne[1] % t->ne[2], row / (t->ne[1] * t->ne[2])};
}

inline void next_row(const ggml_tensor * t, Row & r) {
    if (++r.i1 < t->ne[1]) return;
    r.i1 = 0;
    if (++r.i2 < t->ne[2]) return;
    r.i2 = 0;
    ++r.i3;
}

inline const float * row_start(const ggml_tensor * t, Row r) {
    const char * p = static_cast<const char *>(t->data);
    p += size_t(r.i1) * t->nb[1] + size_t(r.i2) * t->nb[2] + size_t(r.i3) * t->nb[3];
    return reinterpret_cast<const float *>(p);
}

// Row r of a tensor without empty dimensions that is repeated over the one r belongs to.
inline const float * repeated_row(const ggml_tensor * t, Row r) {
    return row_start(t, {r.i1 % t->ne[1], r.i2 % t->ne[2], r.i3 % t->ne[3]});
}

// Step between elements of dimension d, in floats; 0 where the only element is repeated.
inline int64_t float_step(const ggml_tensor * t, int d) {
    return t->ne[d] == 1 ? 0 : int64_t(t->nb[d] / sizeof(float));
}

// What a kernel can walk along: unit, elements without gaps (or a single repeated one).
enum class Steps { unit, any };
inline bool walks(Steps steps, const ggml_tensor * t) { return steps == Steps::any || float_step(t, 0) <= 1; }

// Every element has the address of a float.
inline bool is_float_aligned(const ggml_tensor * t) {
    size_t all = t->view_offs;
    for (const size_t nb : t->nb) all |= nb;
    return t->type == GGML_TYPE_F32 && all % sizeof(float) == 0;
}

} // namespace sd
