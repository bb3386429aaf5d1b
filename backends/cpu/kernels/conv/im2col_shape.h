// An IM2COL or IM2COL_3D node, decoded: 1- and 2-dimensional ones are 3-dimensional with height or depth 1.
#pragma once

#include "ggml.h"

#include <cstddef>
#include <cstdint>

namespace ggml::cpu::conv {

// Sizes in ggml order (width, height, depth); byte strides of the image.
struct Im2colShape {
    const ggml_tensor * image;
    ggml_tensor *
        dst; // contiguous: [n][out depth][out height][out width][channel][kernel depth, height, width]
    int64_t n, channels;
    int64_t in[3], kernel[3], out[3], stride[3], pad[3], dilation[3];
    size_t nb[3], nb_channel, nb_image;

    explicit Im2colShape(ggml_tensor * node);
    int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
};

} // namespace ggml::cpu::conv
