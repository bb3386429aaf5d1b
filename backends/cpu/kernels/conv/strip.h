// How a dense convolution is cut into pieces, and the oneDNN convolution of one piece. A piece is a strip of
// output rows (or planes) of one image and a block of output channels; a thread takes it through all steps by
// itself: into channels-last layout, through oneDNN, back. So scratch is bounded, layout changes stay in the
// caches, and neither the thread count nor the schedule can show in the result.
#pragma once

#include "backends/cpu/kernels/conv/shape.h"

#include <dnnl.hpp>

#include <memory>

namespace ggml::cpu::conv {

// The last piece of an image or kernel overlaps its predecessor rather than being smaller: one primitive
// serves all.
struct StripPlan {
    int64_t rows, planes, channels; // of the output
    int64_t in_rows, in_planes;     // input under them, borders included
    int64_t n_row_strips, n_plane_strips, n_channel_blocks;

    explicit StripPlan(const ConvShape & s);
    size_t src_floats(const ConvShape & s) const {
        return size_t(in_planes * in_rows * s.src.size[0] * s.ic);
    }
    size_t dst_floats(const ConvShape & s) const { return size_t(planes * rows * s.dst.size[0] * channels); }
};

// Compiled for one thread. Immutable; runs on several threads at once, each with its own scratchpad.
struct StripConv {
    dnnl::engine engine;
    dnnl::convolution_forward conv;
    dnnl::reorder pack_weights;
    dnnl::memory::desc src, dst, weights, packed_weights, scratchpad;
};

// From the cache, or built. Null when oneDNN refuses (the reason is logged).
std::shared_ptr<const StripConv> strip_conv(const ConvShape & s, const StripPlan & plan);

} // namespace ggml::cpu::conv
