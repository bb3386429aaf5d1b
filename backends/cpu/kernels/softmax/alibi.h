// ALiBi: the factor a head's mask is multiplied with, and 1 for every head when max_bias is 0.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ggml::cpu {

// Slopes form a geometric series over the largest power of two of heads; the remaining heads take the odd
// members of the series with half the exponent, as in the method's publication.
inline float alibi_slope(float max_bias, int64_t n_heads, int64_t head) {
    if (max_bias <= 0.0f) return 1.0f;
    const auto base_heads = int64_t(std::bit_floor(uint64_t(n_heads)));
    const float step = head < base_heads ? max_bias : max_bias / 2.0f;
    const float ratio = std::pow(2.0f, -step / float(base_heads));
    return std::pow(ratio, float(head < base_heads ? head + 1 : 2 * (head - base_heads) + 1));
}

} // namespace ggml::cpu
