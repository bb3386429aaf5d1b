// Shared by the K types: super-blocks of 256 values split into groups, each with its own small-integer scale
// (and offset), which one half-precision number per super-block turns into floats.
#pragma once

#include "runtime/tensor/blocks.h"
#include "runtime/tensor/quant_search.h"

#include <cstdint>

namespace ggml {

inline constexpr int kMaxGroups = 16;

// Two-bit fields: byte l of a half holds elements l, l + 32, l + 64 and l + 96 of that half, lowest first.
inline void pack_2bit(const uint8_t * codes, uint8_t * qs) {
    for (int half = 0; half < 2; ++half, codes += 128, qs += 32) {
        for (int l = 0; l < 32; ++l) {
            qs[l] = uint8_t(codes[l] | codes[l + 32] << 2 | codes[l + 64] << 4 | codes[l + 96] << 6);
        }
    }
}
inline int unpack_2bit(const uint8_t * qs, int element) {
    return (qs[32 * (element / 128) + element % 32] >> (2 * (element % 128 / 32))) & 3;
}

// Four-bit fields: groups of 32 come in pairs that share bytes, the first of a pair in the low nibbles.
inline void pack_4bit(const uint8_t * codes, uint8_t * qs) {
    for (int pair = 0; pair < 4; ++pair, codes += 64, qs += 32) {
        for (int l = 0; l < 32; ++l) qs[l] = uint8_t((codes[l] & 15) | (codes[l + 32] & 15) << 4);
    }
}

// Six-bit scales and offsets of Q4_K and Q5_K: eight of each in twelve bytes. The upper two bits of the last
// four live on top of the bytes of the first four.
struct GroupScale {
    int scale, offset;
};
inline GroupScale unpack_6bit(const uint8_t * scales, int group) {
    if (group < 4) return {scales[group] & 63, scales[group + 4] & 63};
    return {(scales[group + 4] & 15) | (scales[group - 4] >> 6) << 4,
            (scales[group + 4] >> 4) | (scales[group] >> 6) << 4};
}
inline void pack_6bit(const uint8_t * scale_codes, const uint8_t * offset_codes, uint8_t * scales) {
    for (int g = 0; g < 4; ++g) {
        scales[g] = uint8_t(scale_codes[g] | (scale_codes[g + 4] >> 4) << 6);
        scales[g + 4] = uint8_t(offset_codes[g] | (offset_codes[g + 4] >> 4) << 6);
        scales[g + 8] = uint8_t((scale_codes[g + 4] & 15) | (offset_codes[g + 4] & 15) << 4);
    }
}

// How an affine K type (value = d * scale * code - dmin * offset) is searched.
struct AffineSuperFormat {
    int group;          // values per group
    int scale_top;      // largest scale and offset code
    AffineSearch plain; // without importance; weights |x|, plus the group's RMS when add_rms
    bool add_rms;
    AffineSearch weighted; // with importance; variance = variance_factor * mean square of the super-block
    float variance_factor;
};

struct AffineSuperBlock {
    uint16_t d, dmin; // half precision
    uint8_t scale_codes[kMaxGroups], offset_codes[kMaxGroups];
    uint8_t codes[kSuperBlock];
};

// Importance null: the plain search. Values that cannot be represented give a NaN d and zero codes.
void fit_affine_super_block(const AffineSuperFormat & format, const float * x, const float * importance,
                            AffineSuperBlock & out);

} // namespace ggml
