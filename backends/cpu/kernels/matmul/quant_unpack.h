// Opens quantized weight blocks in portable C++: the form every other instruction set must reproduce, and the
// one used where no faster exists. `unpack32` gives the unsigned values of 32 consecutive elements;
// `group_scales` gives d and m of all groups of a stored block (m is what is added, so K types give -dmin *
// mn). Everything here is internal to the including file (anonymous namespace): files compiled for different
// instruction sets must not share these functions.
#pragma once

#include "backends/cpu/kernels/matmul/quant_format.h"
#include "runtime/base/half.h"

#include <cstring>

namespace ggml::cpu::matmul {
namespace {

[[maybe_unused]] inline void nibbles(const uint8_t * qs, uint8_t * u) {
    for (int i = 0; i < 16; ++i) {
        u[i] = qs[i] & 15;
        u[i + 16] = qs[i] >> 4;
    }
}

[[maybe_unused]] inline void fifth_bits(const uint8_t * qh, uint8_t * u) {
    uint32_t bits;
    std::memcpy(&bits, qh, sizeof bits);
    for (int i = 0; i < 32; ++i) u[i] = uint8_t(u[i] | (((bits >> i) & 1) << 4));
}

[[maybe_unused]] inline void unpack32(const BlockQ4_0 & b, int, uint8_t * u) { nibbles(b.qs, u); }
[[maybe_unused]] inline void unpack32(const BlockQ4_1 & b, int, uint8_t * u) { nibbles(b.qs, u); }
[[maybe_unused]] inline void unpack32(const BlockQ5_0 & b, int, uint8_t * u) {
    nibbles(b.qs, u);
    fifth_bits(b.qh, u);
}
[[maybe_unused]] inline void unpack32(const BlockQ5_1 & b, int, uint8_t * u) {
    nibbles(b.qs, u);
    fifth_bits(b.qh, u);
}
[[maybe_unused]] inline void unpack32(const BlockQ8_0 & b, int, uint8_t * u) {
    for (int i = 0; i < 32; ++i) u[i] = uint8_t(uint8_t(b.qs[i]) ^ 0x80);
}
[[maybe_unused]] inline void unpack32(const BlockQ2_K & b, int j, uint8_t * u) {
    const uint8_t * qs = b.qs + 32 * (j / 4);
    for (int i = 0; i < 32; ++i) u[i] = (qs[i] >> (2 * (j % 4))) & 3;
}
[[maybe_unused]] inline void unpack32(const BlockQ3_K & b, int j, uint8_t * u) {
    const uint8_t * qs = b.qs + 32 * (j / 4);
    for (int i = 0; i < 32; ++i) {
        u[i] = uint8_t(((qs[i] >> (2 * (j % 4))) & 3) | (((b.hmask[i] >> j) & 1) << 2));
    }
}
[[maybe_unused]] inline void unpack32(const BlockQ4_K & b, int j, uint8_t * u) {
    const uint8_t * qs = b.qs + 32 * (j / 2);
    for (int i = 0; i < 32; ++i) u[i] = (qs[i] >> (4 * (j % 2))) & 15;
}
[[maybe_unused]] inline void unpack32(const BlockQ5_K & b, int j, uint8_t * u) {
    const uint8_t * qs = b.qs + 32 * (j / 2);
    for (int i = 0; i < 32; ++i) {
        u[i] = uint8_t(((qs[i] >> (4 * (j % 2))) & 15) | (((b.qh[i] >> j) & 1) << 4));
    }
}
[[maybe_unused]] inline void unpack32(const BlockQ6_K & b, int j, uint8_t * u) {
    const uint8_t * low = b.ql + 64 * (j / 4) + 32 * (j % 2);
    const uint8_t * high = b.qh + 32 * (j / 4);
    const int shift = 4 * ((j % 4) / 2);
    for (int i = 0; i < 32; ++i) {
        u[i] = uint8_t(((low[i] >> shift) & 15) | (((high[i] >> (2 * (j % 4))) & 3) << 4));
    }
}

// The 6-bit scales and minima of Q4_K and Q5_K, eight of each.
[[maybe_unused]] inline void scales_q4_k(const uint8_t * packed, uint8_t * sc, uint8_t * mn) {
    for (int j = 0; j < 4; ++j) {
        sc[j] = packed[j] & 63;
        mn[j] = packed[j + 4] & 63;
        sc[j + 4] = uint8_t((packed[j + 8] & 15) | ((packed[j] >> 6) << 4));
        mn[j + 4] = uint8_t((packed[j + 8] >> 4) | ((packed[j + 4] >> 6) << 4));
    }
}

// The sixteen 6-bit scales of Q3_K, -32..31.
[[maybe_unused]] inline void scales_q3_k(const uint8_t * packed, int8_t * sc) {
    for (int i = 0; i < 16; ++i) {
        const int low = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;
        const int up = (packed[8 + i % 4] >> (2 * (i / 4))) & 3;
        sc[i] = int8_t((low | (up << 4)) - 32);
    }
}

[[maybe_unused]] inline void group_scales(const BlockQ4_0 & b, float * d, float *) {
    d[0] = half_to_float(b.d);
}
[[maybe_unused]] inline void group_scales(const BlockQ5_0 & b, float * d, float *) {
    d[0] = half_to_float(b.d);
}
[[maybe_unused]] inline void group_scales(const BlockQ8_0 & b, float * d, float *) {
    d[0] = half_to_float(b.d);
}
[[maybe_unused]] inline void group_scales(const BlockQ4_1 & b, float * d, float * m) {
    d[0] = half_to_float(b.d);
    m[0] = half_to_float(b.m);
}
[[maybe_unused]] inline void group_scales(const BlockQ5_1 & b, float * d, float * m) {
    d[0] = half_to_float(b.d);
    m[0] = half_to_float(b.m);
}
[[maybe_unused]] inline void group_scales(const BlockQ2_K & b, float * d, float * m) {
    const float scale = half_to_float(b.d), minimum = -half_to_float(b.dmin);
    for (int i = 0; i < 16; ++i) {
        d[i] = scale * float(b.scales[i] & 15);
        m[i] = minimum * float(b.scales[i] >> 4);
    }
}
[[maybe_unused]] inline void group_scales(const BlockQ3_K & b, float * d, float *) {
    const float scale = half_to_float(b.d);
    int8_t sc[16];
    scales_q3_k(b.scales, sc);
    for (int i = 0; i < 16; ++i) d[i] = scale * float(sc[i]);
}
template <class Block>
inline void scale_minimum_pairs(const Block & b, float * d, float * m) {
    const float scale = half_to_float(b.d), minimum = -half_to_float(b.dmin);
    uint8_t sc[8], mn[8];
    scales_q4_k(b.scales, sc, mn);
    for (int i = 0; i < 8; ++i) {
        d[i] = scale * float(sc[i]);
        m[i] = minimum * float(mn[i]);
    }
}
[[maybe_unused]] inline void group_scales(const BlockQ4_K & b, float * d, float * m) {
    scale_minimum_pairs(b, d, m);
}
[[maybe_unused]] inline void group_scales(const BlockQ5_K & b, float * d, float * m) {
    scale_minimum_pairs(b, d, m);
}
[[maybe_unused]] inline void group_scales(const BlockQ6_K & b, float * d, float *) {
    const float scale = half_to_float(b.d);
    for (int i = 0; i < 16; ++i) d[i] = scale * float(b.scales[i]);
}

} // namespace
} // namespace ggml::cpu::matmul
