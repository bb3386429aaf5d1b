// Five-bit codes of Q5_0 and Q5_1: the low four bits lie as in Q4 blocks (element j beside element j + 16),
// the fifth bit of element j is bit j of a little-endian word.
#pragma once

#include <cstdint>

namespace ggml {

inline uint32_t load_high_bits(const uint8_t * qh) {
    return uint32_t(qh[0]) | uint32_t(qh[1]) << 8 | uint32_t(qh[2]) << 16 | uint32_t(qh[3]) << 24;
}

// Codes of elements j and j + 16, j < 16.
inline int low_5bit(const uint8_t * qs, uint32_t high, int j) {
    return int((qs[j] & 15u) | ((high >> j) & 1u) << 4);
}
inline int high_5bit(const uint8_t * qs, uint32_t high, int j) {
    return int((qs[j] >> 4) | ((high >> (j + 16)) & 1u) << 4);
}

inline void pack_5bit(const uint8_t * codes, uint8_t * qh, uint8_t * qs) {
    uint32_t high = 0;
    for (int j = 0; j < 32; ++j) high |= uint32_t(codes[j] >> 4) << j;
    for (int k = 0; k < 4; ++k) qh[k] = uint8_t(high >> (8 * k));
    for (int j = 0; j < 16; ++j) qs[j] = uint8_t((codes[j] & 15) | (codes[j + 16] & 15) << 4);
}

} // namespace ggml
