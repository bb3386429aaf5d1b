#include "runtime/tensor/blocks.h"
#include "runtime/tensor/codecs.h"
#include "runtime/tensor/importance.h"
#include "runtime/tensor/quant_search.h"
#include "runtime/tensor/rounding.h"

namespace ggml {
namespace {

constexpr int kHalfRange = 8;

// Element j shares a byte with element j + 16.
void pack(const uint8_t * codes, BlockQ4_0 & block) {
    for (int j = 0; j < 16; ++j) block.qs[j] = uint8_t(codes[j] | codes[j + 16] << 4);
}

void encode(const float * x, BlockQ4_0 & block) {
    if (!fits_half_scale(x, kBlock)) {
        block = {kHalfNaN, {}};
        return;
    }
    const float d = signed_extreme(x, kBlock) / -float(kHalfRange);
    const float inverse = inverse_scale(d);
    uint8_t codes[kBlock];
    for (int j = 0; j < kBlock; ++j) codes[j] = uint8_t(floor_code(x[j] * inverse + 8.5f, 0, 15));
    block.d = float_to_half(d);
    pack(codes, block);
}

void encode_weighted(const float * x, const float * weight, BlockQ4_0 & block) {
    uint8_t codes[kBlock];
    block.d = float_to_half(fit_symmetric(kHalfRange, x, weight, kBlock, codes));
    pack(codes, block);
}

} // namespace

void q4_0_to_float(const void * src, float * dst, int64_t n) {
    const auto * block = static_cast<const BlockQ4_0 *>(src);
    for (; n > 0; n -= kBlock, dst += kBlock, ++block) {
        const float d = half_to_float(block->d);
        for (int j = 0; j < 16; ++j) {
            dst[j] = float(int(block->qs[j] & 15) - kHalfRange) * d;
            dst[j + 16] = float(int(block->qs[j] >> 4) - kHalfRange) * d;
        }
    }
}

void float_to_q4_0(const float * src, void * dst, int64_t n) {
    auto * block = static_cast<BlockQ4_0 *>(dst);
    for (; n > 0; n -= kBlock, src += kBlock, ++block) encode(src, *block);
}

void float_to_q4_0_weighted(const float * src, void * dst, int64_t n, const float * importance) {
    auto * block = static_cast<BlockQ4_0 *>(dst);
    const float variance = row_variance(src, n);
    for (int64_t i = 0; i < n; i += kBlock, ++block) {
        if (!fits_half_scale(src + i, kBlock)) {
            *block = {kHalfNaN, {}};
            continue;
        }
        float weight[kBlock];
        importance_weights(src + i, importance + i, variance, kBlock, weight);
        encode_weighted(src + i, weight, *block);
    }
}

} // namespace ggml
