// The inner loop of channel_rms_norm kernels.
#pragma once

#include <cstdint>

namespace sd {

// Neighbouring pixels of one picture.
struct ChannelNormSpan {
    static constexpr int64_t kMaxPixels = 1024;

    const float * x; // the first pixel in channel 0
    float * y;       // may be x
    int64_t plane;   // floats from a channel to the next
    int64_t channels;
    int64_t pixels; // 1 .. kMaxPixels
    const float * gamma;
    float eps;
    bool silu;
};

void channel_norm_span_simd(const ChannelNormSpan & span);
void channel_norm_span_scalar(const ChannelNormSpan & span);

} // namespace sd
