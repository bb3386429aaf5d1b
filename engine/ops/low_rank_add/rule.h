// "sd.fuse.low_rank_add.cpu": MUL_MAT by a matrix of few columns, then ADD to what another layer gave:
// base + up (down x), what adapters add. The product is not written and read again, which costs more time
// than computing it.
//
// No operator of its own: the nodes are built-in ones. Promise: sums over the rank in order, in F32, then the
// base; so the result is the two nodes' but for rounding, and does not depend on the number of threads.
#pragma once

#include "ggml-ext.h"

#include <cstdint>

namespace sd {

// Columns [0, n) of `rows` rows: out = base + z panel. out may be base.
struct LowRankRows {
    static constexpr int64_t kTile = 64; // columns that lie together in a panel

    const float * z; // [rows][rank]
    int64_t z_row;
    int64_t rank;
    const float * panel; // [tiles][rank][kTile], zeros behind the last column
    const float * base;
    int64_t base_row;
    float * out;
    int64_t out_row;
    int64_t n, rows;
};
void low_rank_rows_simd(const LowRankRows & rows);

ggml_ext_status register_low_rank_add(ggml_backend_dev_t device);

} // namespace sd
