// Output sizes of convolutions, shared by the direct and the im2col constructors.
#pragma once

#include "runtime/ops/build.h"

namespace ggml {

// Stride, padding on both sides and dilation along one dimension.
struct ConvStep {
    int32_t stride, pad, dilation;
};

// The numbers make sense: strides and dilations advance, paddings add.
inline bool is_possible(const ConvStep & step) {
    return step.stride > 0 && step.pad >= 0 && step.dilation > 0;
}

// Positions of a kernel of `kernel` elements over `in` elements. The division rounds towards zero as ggml's
// does: a kernel that sticks out by less than a stride still has one position, whose missing elements count
// as padding.
inline Extent conv_output(int64_t in, int64_t kernel, const ConvStep & step) {
    const Extent slack = Extent(in) + Extent(2) * step.pad - Extent(step.dilation) * (Extent(kernel) - 1) - 1;
    return slack / step.stride + 1;
}

// Elements that `in` positions of a kernel cover when each one writes.
inline Extent conv_transpose_output(int64_t in, int64_t kernel, int32_t stride) {
    return (Extent(in) - 1) * stride + kernel;
}

} // namespace ggml
