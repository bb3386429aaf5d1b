// "sd.fuse.gated_residual.cpu": MUL by a gate, then ADD, in one pass over the rows: what ends a branch of an
// adaptive transformer block, x + y * gate.
//
// No operator of its own: the nodes are built-in ones. Promise: the bits of the two nodes (a NaN may have
// another payload), whatever the threads and instruction sets.
#pragma once

#include "ggml-ext.h"

#include <cstdint>

namespace sd {

// out[i] = x[i] + y[i] * gate[i * gate_step], for each row; the product is rounded.
struct GatedRows {
    static constexpr int kMax = 4;

    const float *x, *y;
    int64_t x_row, y_row;
    const float * gate;
    int64_t gate_step; // 0 or 1
    float * out;       // nothing that is read
    int64_t out_row;
    int64_t n;
    int rows; // 1 .. kMax
};
void gated_rows_simd(const GatedRows & rows);

ggml_ext_status register_gated_residual(ggml_backend_dev_t device);

} // namespace sd
