// "sd.channel_rms_norm.v1": the norm of convolutional models, at each pixel over its channels, with the SiLU
// that usually follows.
//
//   inputs   x F32 [width, height, channels, batch], contiguous; gamma F32, one element per channel
//   result   F32 of x's shape: z = x / sqrt(mean over channels of x^2 + eps) * gamma; or z / (1 + e^-z)
//
// Squares are added in the order of channels, in F32. Promise: without SiLU, every kernel gives the bits of
// the reference; with it, within 2^-20 of the value.
#pragma once

#include "ggml-ext.h"

#include <cstdint>

namespace sd {

struct ChannelRmsNormAttrs {
    float eps;
    int32_t silu; // 0 or 1
};

// NULL when memory runs out.
ggml_ext_op_t channel_rms_norm_op();

ggml_status channel_rms_norm_reference(ggml_tensor * node, void * user_data);

ggml_ext_status register_channel_rms_norm(ggml_backend_dev_t device);

} // namespace sd
