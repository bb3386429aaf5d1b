// Blocked attention: a tile of queries against a panel of keys and values, in F32 vector arithmetic with
// online softmax. Everything a tile keeps lies transposed, queries along the vector, so that maxima, sums and
// exponentials of the softmax need no work across lanes and K and V rows are only ever read as scalars.
// The result of a query does not depend on which other queries share its tile.
#pragma once

#include <cmath>
#include <cstdint>

namespace ggml::cpu::attention {

// Two AVX-512 vectors: the smallest tile whose products are bound by arithmetic, not by loads.
inline constexpr int kTileQueries = 32;

struct Params {
    int64_t d, dv;
    float scale;   // for q.k, already divided by softcap when there is one
    float softcap; // 0: none
    bool has_mask, has_sinks;
};

// One query, wherever its head and batch are.
struct Query {
    const float * q;
    const uint16_t * mask; // F16, one per key; null without a mask
    float slope;           // of the mask
    float sink;
    float * out;
};

// A run of keys as float rows; strides in floats.
struct Panel {
    const float *k, *v;
    int64_t k_stride, v_stride;
    int64_t first, count; // keys [first, first + count)
    bool finite;          // no NaN or infinity in v; may be false without need
};

// What a tile carries from panel to panel. Element e of query i is at [e * kTileQueries + i]; 64-byte
// aligned.
struct Tile {
    const Query * queries;
    int n;            // 1..kTileQueries
    float *q, *out;   // d and dv rows
    float *max, *sum; // one row each
};

// Room for count * kTileQueries floats each, 64-byte aligned.
struct TileScratch {
    float *scores, *bias;
};

void tile_begin(const Params & p, const Tile & tile);
void tile_step(const Params & p, const Tile & tile, const Panel & panel, const TileScratch & scratch);
void tile_finish(const Params & p, const Tile & tile); // divides, applies sinks, writes the rows of `out`

// The part of a panel that some query of the tile can see, counted from the panel's first key.
struct Visible {
    int64_t begin, end; // begin == end: nothing
    bool biased;        // some mask value in the part is not 0
};
Visible visible_keys(const Tile & tile, const Panel & panel);

// A sink takes part in the normalization and has no value: what the sum becomes, and what the summed values
// are multiplied with because the maximum may have grown. sink -inf: no sink.
struct SinkFactors {
    float sum, shrink;
};
inline SinkFactors apply_sink(float sink, float max, float sum) {
    if (sink == -HUGE_VALF) return {sum, 1.0f};
    if (!(sink > max)) return {sum + std::exp(sink - max), 1.0f};
    const float shrink = std::exp(max - sink);
    return {sum * shrink + 1.0f, shrink};
}

} // namespace ggml::cpu::attention
