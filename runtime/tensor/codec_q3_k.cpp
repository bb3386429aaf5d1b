#include "runtime/tensor/codecs.h"
#include "runtime/tensor/importance.h"
#include "runtime/tensor/rounding.h"
#include "runtime/tensor/super_block.h"

#include <cmath>
#include <cstring>

namespace ggml {
namespace {

constexpr int kGroup = 16;
constexpr int kGroups = kSuperBlock / kGroup;
constexpr int kHalfRange = 4;
constexpr int kScaleHalfRange = 32;

// Six-bit scales: low nibbles of 0..7 and 8..15 share the first eight bytes, the upper two bits of scale g
// are field g / 4 of byte 8 + g % 4.
int unpack_scale(const uint8_t * scales, int g) {
    const int low = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;
    const int high = (scales[8 + g % 4] >> (2 * (g / 4))) & 3;
    return (low | high << 4) - kScaleHalfRange;
}

void pack_scales(const uint8_t * codes, uint8_t * scales) {
    std::memset(scales, 0, 12);
    for (int g = 0; g < kGroups; ++g) {
        scales[g % 8] = uint8_t(scales[g % 8] | (codes[g] & 15) << (g < 8 ? 0 : 4));
        scales[8 + g % 4] = uint8_t(scales[8 + g % 4] | (codes[g] >> 4) << (2 * (g / 4)));
    }
}

// Codes 0..7 carry an offset of 4: the third bit lies apart, in bit (element / 32) of hmask.
void pack_codes(const uint8_t * codes, BlockQ3_K & block) {
    uint8_t low[kSuperBlock];
    std::memset(block.hmask, 0, sizeof(block.hmask));
    for (int e = 0; e < kSuperBlock; ++e) {
        low[e] = codes[e] & 3;
        block.hmask[e % 32] = uint8_t(block.hmask[e % 32] | (codes[e] >> 2) << (e / 32));
    }
    pack_2bit(low, block.qs);
}

void code_again(const float * x, const BlockQ3_K & block, uint8_t * codes) {
    const float d = half_to_float(block.d);
    for (int g = 0; g < kGroups; ++g) {
        const float scale = d * float(unpack_scale(block.scales, g));
        if (scale == 0.0f) continue;
        for (int e = kGroup * g; e < kGroup * (g + 1); ++e) {
            codes[e] = uint8_t(nearest_code(x[e] / scale, -kHalfRange, kHalfRange - 1) + kHalfRange);
        }
    }
}

float fit_plain(const float * x, uint8_t * codes, uint8_t * scale_codes) {
    float scales[kGroups];
    for (int g = 0; g < kGroups; ++g) {
        scales[g] = refine_symmetric(kHalfRange, x + kGroup * g, kGroup, codes + kGroup * g);
    }
    const float extreme = signed_extreme(scales, kGroups);
    if (extreme == 0.0f) {
        std::memset(scale_codes, 0, kGroups);
        return 0.0f;
    }
    const float inverse = -float(kScaleHalfRange) / extreme;
    for (int g = 0; g < kGroups; ++g) {
        const int code = nearest_code(inverse * scales[g], -kScaleHalfRange, kScaleHalfRange - 1);
        scale_codes[g] = uint8_t(code + kScaleHalfRange);
    }
    return 1.0f / inverse;
}

float fit_weighted(const float * x, const float * importance, uint8_t * codes, uint8_t * scale_codes) {
    const float variance = 2.0f * sum_of_squares(x, kSuperBlock) / kSuperBlock;
    float scales[kGroups], group_weight[kGroups];
    for (int g = 0; g < kGroups; ++g) {
        const int at = kGroup * g;
        float weight[kGroup];
        importance_weights(x + at, importance + at, variance, kGroup, weight);
        group_weight[g] = 0.0f;
        for (const float w : weight) group_weight[g] += w;
        scales[g] = fit_symmetric(kHalfRange, x + at, weight, kGroup, codes + at);
    }
    return fit_symmetric(kScaleHalfRange, scales, group_weight, kGroups, scale_codes);
}

void encode(const float * x, const float * importance, BlockQ3_K & block) {
    if (!fits_half_scale(x, kSuperBlock)) {
        block = {};
        block.d = kHalfNaN;
        return;
    }
    uint8_t codes[kSuperBlock], scale_codes[kGroups];
    const float d =
        importance ? fit_weighted(x, importance, codes, scale_codes) : fit_plain(x, codes, scale_codes);
    block.d = float_to_half(d);
    pack_scales(scale_codes, block.scales);
    code_again(x, block, codes);
    pack_codes(codes, block);
}

} // namespace

void q3_k_to_float(const void * src, float * dst, int64_t n) {
    const auto * block = static_cast<const BlockQ3_K *>(src);
    for (; n > 0; n -= kSuperBlock, dst += kSuperBlock, ++block) {
        const float d = half_to_float(block->d);
        for (int e = 0; e < kSuperBlock; ++e) {
            const float scale = d * float(unpack_scale(block->scales, e / kGroup));
            const int high = (block->hmask[e % 32] >> (e / 32)) & 1;
            dst[e] = scale * float(unpack_2bit(block->qs, e) + 4 * high - kHalfRange);
        }
    }
}

void float_to_q3_k(const float * src, void * dst, int64_t n) {
    auto * block = static_cast<BlockQ3_K *>(dst);
    for (; n > 0; n -= kSuperBlock, src += kSuperBlock, ++block) encode(src, nullptr, *block);
}

void float_to_q3_k_weighted(const float * src, void * dst, int64_t n, const float * importance) {
    auto * block = static_cast<BlockQ3_K *>(dst);
    for (int64_t i = 0; i < n; i += kSuperBlock, ++block) encode(src + i, importance + i, *block);
}

} // namespace ggml
