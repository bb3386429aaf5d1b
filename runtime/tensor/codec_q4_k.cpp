#include "runtime/base/half.h"
#include "runtime/tensor/codecs.h"
#include "runtime/tensor/super_block.h"

namespace ggml {
namespace {

constexpr AffineSuperFormat kFormat = {
    .group = 32,
    .scale_top = 63,
    .plain = {15, -1.0f, 0.1f, 20, false},
    .add_rms = true,
    .weighted = {15, -0.9f, 0.05f, 36, false},
    .variance_factor = 2.0f,
};

void encode(const float * x, const float * importance, BlockQ4_K & block) {
    AffineSuperBlock fit;
    fit_affine_super_block(kFormat, x, importance, fit);
    block.d = fit.d;
    block.dmin = fit.dmin;
    pack_6bit(fit.scale_codes, fit.offset_codes, block.scales);
    pack_4bit(fit.codes, block.qs);
}

} // namespace

void q4_k_to_float(const void * src, float * dst, int64_t n) {
    const auto * block = static_cast<const BlockQ4_K *>(src);
    for (; n > 0; n -= kSuperBlock, ++block) {
        const float d = half_to_float(block->d);
        const float dmin = half_to_float(block->dmin);
        for (int g = 0; g < 8; ++g, dst += 32) {
            const GroupScale s = unpack_6bit(block->scales, g);
            const float scale = d * float(s.scale);
            const float offset = dmin * float(s.offset);
            const uint8_t * qs = block->qs + 32 * (g / 2);
            const int shift = 4 * (g % 2);
            for (int l = 0; l < 32; ++l) dst[l] = scale * float((qs[l] >> shift) & 15) - offset;
        }
    }
}

void float_to_q4_k(const float * src, void * dst, int64_t n) {
    auto * block = static_cast<BlockQ4_K *>(dst);
    for (; n > 0; n -= kSuperBlock, src += kSuperBlock, ++block) encode(src, nullptr, *block);
}

void float_to_q4_k_weighted(const float * src, void * dst, int64_t n, const float * importance) {
    auto * block = static_cast<BlockQ4_K *>(dst);
    for (int64_t i = 0; i < n; i += kSuperBlock, ++block) encode(src + i, importance + i, *block);
}

} // namespace ggml
