// Activation rows in int8: per block of 32 values (per 256 for some weight types, see shared_blocks), d =
// amax / 127 and q = round_to_nearest_even(x * (127 / amax)). Scales stay in float, so a large activation
// cannot overflow them. A block that holds a NaN or an infinity has d = NaN: every result of that row is NaN.
// Blocks with amax < kTinyActivation are zero.
#pragma once

#include "backends/cpu/kernels/matmul/quant_format.h"

#include <bit>
#include <cmath>
#include <limits>

namespace ggml::cpu::matmul {

struct ActScale {
    float d;
    float inverse; // 0: all q are zero
};

// From the bits of the largest magnitude (sign cleared): these order like the values, NaN above everything.
inline ActScale act_scale(int32_t amax_bits) {
    if (amax_bits >= 0x7f800000) return {std::numeric_limits<float>::quiet_NaN(), 0.0f};
    const float amax = std::bit_cast<float>(amax_bits);
    if (amax < kTinyActivation) return {0.0f, 0.0f};
    return {amax / 127.0f, 127.0f / amax};
}

// The definition, for `shared` blocks with one scale, into out[0], out[stride], ...: what every set's
// `quantize` computes, bit for bit. correction[] gets plain sums.
inline void quantize_act_blocks(const float * x, int shared, ActBlock * out, int64_t stride) {
    int32_t top = 0;
    for (int i = 0; i < shared * kBlock; ++i) {
        const int32_t bits = std::bit_cast<int32_t>(x[i]) & 0x7fffffff;
        top = bits > top ? bits : top;
    }
    const ActScale scale = act_scale(top);
    for (int b = 0; b < shared; ++b, x += kBlock, out += stride) {
        out->d = scale.d;
        out->unused = 0;
        out->correction[0] = out->correction[1] = 0;
        for (int i = 0; i < kBlock; ++i) {
            const int q = scale.inverse == 0.0f ? 0 : int(std::nearbyintf(x[i] * scale.inverse));
            out->q[i] = int8_t(q);
            out->correction[i / 16] += q;
        }
    }
}

// What a weight type wants beside the q of an activation.
struct ActLayout {
    int groups;   // sums per 32 elements
    int offset;   // 0 where the kernels take signed weights
    bool minimum; // sums as floats
};

// Turns plain half sums into `layout`'s corrections.
inline void finish_act_block(const ActLayout & layout, ActBlock & block) {
    int32_t sums[2] = {block.correction[0], block.correction[1]};
    if (layout.groups == 1) sums[0] += sums[1], sums[1] = 0;
    for (int g = 0; g < 2; ++g) {
        if (layout.minimum)
            block.sum[g] = block.d * float(sums[g]);
        else
            block.correction[g] = -layout.offset * sums[g];
    }
}

} // namespace ggml::cpu::matmul
