// Moving strips of images between ggml's order (width innermost, one plane per channel) and channels-last,
// which is what dense convolution wants.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ggml::cpu::conv {

// dst[x * channels + c] = src[x][c] for one image row. Any strides in bytes; fast when x is contiguous.
void row_to_channels_last(const char * src, size_t nb_x, size_t nb_channel, int64_t width, int64_t channels,
                          float * dst);

// The reverse.
void row_from_channels_last(const float * src, int64_t width, int64_t channels, char * dst, size_t nb_x,
                            size_t nb_channel);

} // namespace ggml::cpu::conv
