// A CONV_TRANSPOSE_1D or CONV_TRANSPOSE_2D node, decoded: 1-dimensional ones have height 1. Metadata only.
#pragma once

#include "ggml.h"

#include <cstddef>
#include <cstdint>

namespace ggml::cpu::conv {

struct TransposeShape {
    const ggml_tensor *kernel, *src;
    ggml_tensor * dst;
    int64_t n, ic, oc;
    int64_t width, height; // of the input
    int64_t kernel_width, kernel_height;
    int64_t out_width, out_height;
    int64_t stride_x, stride_y;
    size_t src_row, src_channel, src_image; // byte strides; elements of a row are src->nb[0] apart
    size_t dst_row, dst_channel, dst_image;
    size_t kernel_row, kernel_oc, kernel_ic;

    explicit TransposeShape(ggml_tensor * node);
    int64_t taps() const { return kernel_width * kernel_height; }
    int64_t pixels() const { return width * height; }
};

} // namespace ggml::cpu::conv
