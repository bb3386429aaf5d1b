// One oneDNN convolution over a strip of output rows, and how a node is cut into such strips. Strips bound the
// scratch, and keep the change to channels-last layout inside the caches.
#pragma once

#include "backends/cpu/kernels/conv/shape.h"

#include <dnnl.hpp>

#include <memory>

namespace ggml::cpu::conv {

// Output rows and planes of a strip. The last strips of an image overlap their predecessors rather than being
// smaller, so one primitive serves all of them.
struct StripPlan {
    int64_t rows, planes;       // output
    int64_t in_rows, in_planes; // input under them, borders included
    int64_t n_row_strips, n_plane_strips;

    explicit StripPlan(const ConvShape & s);
    size_t src_floats(const ConvShape & s) const { return size_t(in_planes * in_rows * s.src.size[0] * s.ic); }
    size_t dst_floats(const ConvShape & s) const { return size_t(planes * rows * s.dst.size[0] * s.oc); }
};

// A compiled convolution for one strip shape and thread count. Immutable; may run on several threads at once.
struct StripConv {
    dnnl::engine engine;
    dnnl::convolution_forward conv;
    dnnl::reorder pack_weights;
    dnnl::memory::desc src, dst, weights, packed_weights, scratchpad;
};

// From the cache, or built. Null when oneDNN refuses (the reason is logged).
std::shared_ptr<const StripConv> strip_conv(const ConvShape & s, const StripPlan & plan, int n_threads);

} // namespace ggml::cpu::conv
