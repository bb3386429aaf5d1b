#include "runtime/tensor/blocks.h"
#include "runtime/tensor/codecs.h"
#include "runtime/tensor/fifth_bit.h"
#include "runtime/tensor/importance.h"
#include "runtime/tensor/quant_search.h"
#include "runtime/tensor/rounding.h"

namespace ggml {
namespace {

constexpr AffineSearch kWeightedSearch = {31, -0.9f, 0.05f, 36, false};

void encode(const float * x, BlockQ5_1 & block) {
    if (!fits_half_scale(x, kBlock)) {
        block = {kHalfNaN, 0, {}, {}};
        return;
    }
    const auto [low, high] = std::minmax_element(x, x + kBlock);
    const float min = *low;
    const float d = (*high - min) / 31.0f;
    const float inverse = inverse_scale(d);
    uint8_t codes[kBlock];
    for (int j = 0; j < kBlock; ++j) codes[j] = uint8_t(floor_code((x[j] - min) * inverse + 0.5f, 0, 31));
    block.d = float_to_half(d);
    block.m = float_to_half(min);
    pack_5bit(codes, block.qh, block.qs);
}

} // namespace

void q5_1_to_float(const void * src, float * dst, int64_t n) {
    const auto * block = static_cast<const BlockQ5_1 *>(src);
    for (; n > 0; n -= kBlock, dst += kBlock, ++block) {
        const float d = half_to_float(block->d);
        const float m = half_to_float(block->m);
        const uint32_t high = load_high_bits(block->qh);
        for (int j = 0; j < 16; ++j) {
            dst[j] = float(low_5bit(block->qs, high, j)) * d + m;
            dst[j + 16] = float(high_5bit(block->qs, high, j)) * d + m;
        }
    }
}

void float_to_q5_1(const float * src, void * dst, int64_t n) {
    auto * block = static_cast<BlockQ5_1 *>(dst);
    for (; n > 0; n -= kBlock, src += kBlock, ++block) encode(src, *block);
}

void float_to_q5_1_weighted(const float * src, void * dst, int64_t n, const float * importance) {
    auto * block = static_cast<BlockQ5_1 *>(dst);
    const float variance = row_variance(src, n);
    for (int64_t i = 0; i < n; i += kBlock, ++block) {
        if (!fits_half_scale(src + i, kBlock)) {
            *block = {kHalfNaN, 0, {}, {}};
            continue;
        }
        float weight[kBlock];
        uint8_t codes[kBlock];
        importance_weights(src + i, importance + i, variance, kBlock, weight);
        const AffineFit fit = fit_affine(kWeightedSearch, src + i, weight, kBlock, codes);
        block->d = float_to_half(fit.scale);
        block->m = float_to_half(-fit.offset);
        pack_5bit(codes, block->qh, block->qs);
    }
}

} // namespace ggml
