// How a dense convolution is cut into pieces, and the oneDNN convolution of one piece. A piece is a strip of
// output rows (or planes; or part of very wide rows) of one image and a block of output channels; a thread
// takes it through all steps by itself: into channels-last layout, through oneDNN, back. So scratch is
// bounded, layout changes stay in the caches, and neither the thread count nor the schedule can show in the
// result.
#pragma once

#include "backends/cpu/kernels/conv/shape.h"

#include <dnnl.hpp>

#include <memory>

namespace ggml::cpu::conv {

// The last piece of an image or kernel overlaps its predecessor rather than being smaller: one primitive
// serves all.
struct StripPlan {
    int64_t columns, rows, planes, channels; // of the output
    int64_t in_columns, in_rows, in_planes;  // input under them; borders included, but see pad
    int64_t pad;                             // columns on the left that oneDNN adds: rows are not cut
    size_t src_floats, dst_floats;           // of a strip
    int64_t n_column_strips, n_row_strips, n_plane_strips, n_channel_blocks;
    // False for sizes beyond what oneDNN counts in and a thread can hold: such convolutions exist, but only
    // as plain sums (exact.h).
    bool possible;

    explicit StripPlan(const ConvShape & s);
};

// For one thread. Immutable once compiled; runs on several threads at once, each with its own scratchpad.
struct StripConv {
    dnnl::engine engine;
    dnnl::convolution_forward::primitive_desc description;
    dnnl::memory::desc src, dst, weights, packed_weights, scratchpad;
    // Set by compile_strip.
    dnnl::convolution_forward conv;
    dnnl::reorder pack_weights;
};

// From the cache, or new. describe_strip chooses the implementation, which says how much memory it takes and
// is a matter of a millisecond; compile_strip also generates its code. Null when oneDNN refuses (the reason
// is logged).
std::shared_ptr<const StripConv> describe_strip(const ConvShape & s, const StripPlan & plan);
std::shared_ptr<const StripConv> compile_strip(const ConvShape & s, const StripPlan & plan);

} // namespace ggml::cpu::conv
