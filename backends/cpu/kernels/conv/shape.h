// A convolution node, decoded: 2-dimensional ones are 3-dimensional with depth 1. Arrays are in ggml order
// (width, height, depth); byte strides, so that any operand may be a view. Reads metadata only.
#pragma once

#include "ggml.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace ggml::cpu::conv {

using Triple = std::array<int64_t, 3>;

struct Operand {
    Triple size;                 // width, height, depth
    std::array<size_t, 3> nb;    // their byte strides
    size_t nb_channel, nb_outer; // src and dst: channel, image; kernel: input channel, output channel
    char * data;
};

struct ConvShape {
    Operand src, kernel, dst;
    ggml_type kernel_type;
    int64_t n, ic, oc;
    Triple stride, pad, dilation;

    // First input coordinate under output coordinate `o`, and the extent of the dilated kernel, in dimension
    // i.
    int64_t origin(int i, int64_t o) const { return o * stride[size_t(i)] - pad[size_t(i)]; }
    int64_t extent(int i) const { return (kernel.size[size_t(i)] - 1) * dilation[size_t(i)] + 1; }
};

ConvShape conv_2d_shape(const ggml_tensor * dst);    // CONV_2D
ConvShape conv_2d_dw_shape(const ggml_tensor * dst); // CONV_2D_DW: kernel.nb_channel is 0, ic == oc
ConvShape conv_3d_shape(const ggml_tensor * dst);    // CONV_3D

// Kernel elements of type F32 or F16 as floats.
float kernel_element(ggml_type type, const char * at);

} // namespace ggml::cpu::conv
