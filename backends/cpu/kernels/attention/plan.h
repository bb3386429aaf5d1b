// How one FLASH_ATTN_EXT node is cut into pieces, and how much scratch that takes. A function of shape and
// types alone, so the result cannot depend on the thread count.
#pragma once

#include "backends/cpu/kernels/attention/shape.h"

#include <cstddef>
#include <cstdint>

namespace ggml::cpu::attention {

struct Plan {
    // A unit is one batch entry and one group of heads with common K and V; its queries are those of all its
    // heads.
    int64_t n_units, queries_per_unit;
    bool few;                               // decoding path
    int64_t panel;                          // keys a panel (few: a chunk)
    int64_t n_panels;                       // at least 1
    int64_t tiles_per_item, items_per_unit; // tiles: an item is a run of tiles of one unit
    int64_t query_floats;                   // room for the Query records of an item, counted in floats
    bool convert_k, convert_v;              // rows are turned into floats first
    int64_t k_stride, v_stride;             // floats, of converted panels
    size_t thread_bytes;                    // scratch of one thread, a multiple of 64
    size_t shared_bytes;                    // partial results, before the threads' scratch

    explicit Plan(const AttentionShape & s);
    int64_t n_items() const { return few ? n_units * n_panels : n_units * items_per_unit; }
};

} // namespace ggml::cpu::attention
