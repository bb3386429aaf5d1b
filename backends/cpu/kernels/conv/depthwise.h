// The inner loops of depthwise convolution.
#pragma once

#include "backends/cpu/kernels/conv/shape.h"

namespace ggml::cpu::conv {

// One output row (image n, channel c, row y), width innermost. `kernel`: the channel's taps as floats.
void depthwise_row(const ConvShape & s, const float * kernel, int64_t n, int64_t c, int64_t y);

// The same for all channels at once, channels innermost. `kernel`: [tap][channel].
void depthwise_row_channels(const ConvShape & s, const float * kernel, int64_t n, int64_t y);

} // namespace ggml::cpu::conv
