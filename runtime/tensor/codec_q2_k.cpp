#include "runtime/base/half.h"
#include "runtime/tensor/codecs.h"
#include "runtime/tensor/super_block.h"

namespace ggml {
namespace {

constexpr AffineSuperFormat kFormat = {
    .group = 16,
    .scale_top = 15,
    .plain = {3, -0.5f, 0.1f, 15, true},
    .add_rms = false,
    .weighted = {3, -0.9f, 0.05f, 36, false},
    .variance_factor = 1.0f,
};

void encode(const float * x, const float * importance, BlockQ2_K & block) {
    AffineSuperBlock fit;
    fit_affine_super_block(kFormat, x, importance, fit);
    block.d = fit.d;
    block.dmin = fit.dmin;
    for (int g = 0; g < 16; ++g) block.scales[g] = uint8_t(fit.scale_codes[g] | fit.offset_codes[g] << 4);
    pack_2bit(fit.codes, block.qs);
}

} // namespace

void q2_k_to_float(const void * src, float * dst, int64_t n) {
    const auto * block = static_cast<const BlockQ2_K *>(src);
    for (; n > 0; n -= kSuperBlock, dst += kSuperBlock, ++block) {
        const float d = half_to_float(block->d);
        const float dmin = half_to_float(block->dmin);
        for (int g = 0; g < 16; ++g) {
            const float scale = d * float(block->scales[g] & 15);
            const float offset = dmin * float(block->scales[g] >> 4);
            for (int e = 16 * g; e < 16 * g + 16; ++e)
                dst[e] = scale * float(unpack_2bit(block->qs, e)) - offset;
        }
    }
}

void float_to_q2_k(const float * src, void * dst, int64_t n) {
    auto * block = static_cast<BlockQ2_K *>(dst);
    for (; n > 0; n -= kSuperBlock, src += kSuperBlock, ++block) encode(src, nullptr, *block);
}

void float_to_q2_k_weighted(const float * src, void * dst, int64_t n, const float * importance) {
    auto * block = static_cast<BlockQ2_K *>(dst);
    for (int64_t i = 0; i < n; i += kSuperBlock, ++block) encode(src + i, importance + i, *block);
}

} // namespace ggml
