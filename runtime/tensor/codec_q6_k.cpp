#include "runtime/tensor/codecs.h"
#include "runtime/tensor/rounding.h"
#include "runtime/tensor/super_block.h"

#include <cmath>

namespace ggml {
namespace {

constexpr int kGroup = 16;
constexpr int kGroups = kSuperBlock / kGroup;
constexpr int kHalfRange = 32;

// Per half of 128: quarter q (32 elements) has its low nibbles in ql[32 * (q % 2)...], in the high nibble for
// q >= 2, and its upper two bits in field q of qh[...].
void pack_codes(const uint8_t * codes, BlockQ6_K & block) {
    for (int half = 0; half < 2; ++half, codes += 128) {
        uint8_t * ql = block.ql + 64 * half;
        uint8_t * qh = block.qh + 32 * half;
        for (int l = 0; l < 32; ++l) {
            const int q[4] = {codes[l], codes[l + 32], codes[l + 64], codes[l + 96]};
            ql[l] = uint8_t((q[0] & 15) | (q[2] & 15) << 4);
            ql[l + 32] = uint8_t((q[1] & 15) | (q[3] & 15) << 4);
            qh[l] = uint8_t(q[0] >> 4 | (q[1] >> 4) << 2 | (q[2] >> 4) << 4 | (q[3] >> 4) << 6);
        }
    }
}

void encode(const float * x, const float * importance, BlockQ6_K & block) {
    block = {};
    if (!fits_half_scale(x, kSuperBlock)) {
        block.d = kHalfNaN;
        return;
    }
    uint8_t codes[kSuperBlock];
    float scales[kGroups];
    for (int g = 0; g < kGroups; ++g) {
        const int at = kGroup * g;
        scales[g] =
            fit_symmetric(kHalfRange, x + at, importance ? importance + at : nullptr, kGroup, codes + at);
    }
    const float extreme = signed_extreme(scales, kGroups);
    if (std::fabs(extreme) < kZeroGroup) return;

    const float inverse = -128.0f / extreme;
    block.d = float_to_half(1.0f / inverse);
    const float d = half_to_float(block.d);
    for (int g = 0; g < kGroups; ++g) {
        block.scales[g] = int8_t(nearest_code(inverse * scales[g], -128, 127));
        const float scale = d * float(block.scales[g]);
        if (scale == 0.0f) continue;
        for (int e = kGroup * g; e < kGroup * (g + 1); ++e) {
            codes[e] = uint8_t(nearest_code(x[e] / scale, -kHalfRange, kHalfRange - 1) + kHalfRange);
        }
    }
    pack_codes(codes, block);
}

} // namespace

void q6_k_to_float(const void * src, float * dst, int64_t n) {
    const auto * block = static_cast<const BlockQ6_K *>(src);
    for (; n > 0; n -= kSuperBlock, ++block) {
        const float d = half_to_float(block->d);
        for (int half = 0; half < 2; ++half) {
            const uint8_t * qh = block->qh + 32 * half;
            for (int quarter = 0; quarter < 4; ++quarter, dst += 32) {
                const uint8_t * ql = block->ql + 64 * half + 32 * (quarter % 2);
                const int8_t * scales = block->scales + 8 * half + 2 * quarter;
                for (int l = 0; l < 32; ++l) {
                    const int low = (ql[l] >> (4 * (quarter / 2))) & 15;
                    const int high = (qh[l] >> (2 * quarter)) & 3;
                    dst[l] = d * float(scales[l / 16]) * float((low | high << 4) - kHalfRange);
                }
            }
        }
    }
}

void float_to_q6_k(const float * src, void * dst, int64_t n) {
    auto * block = static_cast<BlockQ6_K *>(dst);
    for (; n > 0; n -= kSuperBlock, src += kSuperBlock, ++block) encode(src, nullptr, *block);
}

void float_to_q6_k_weighted(const float * src, void * dst, int64_t n, const float * importance) {
    auto * block = static_cast<BlockQ6_K *>(dst);
    for (int64_t i = 0; i < n; i += kSuperBlock, ++block) encode(src + i, importance + i, *block);
}

} // namespace ggml
