#include "runtime/base/half.h"
#include "runtime/tensor/codecs.h"
#include "runtime/tensor/super_block.h"

namespace ggml {
namespace {

constexpr AffineSuperFormat kFormat = {
    .group = 32,
    .scale_top = 63,
    .plain = {31, -0.5f, 0.1f, 15, false},
    .add_rms = true,
    .weighted = {31, -0.9f, 0.05f, 36, false},
    .variance_factor = 2.0f,
};

// The fifth bit of element l of group g is bit g of qh[l].
void encode(const float * x, const float * importance, BlockQ5_K & block) {
    AffineSuperBlock fit;
    fit_affine_super_block(kFormat, x, importance, fit);
    block.d = fit.d;
    block.dmin = fit.dmin;
    pack_6bit(fit.scale_codes, fit.offset_codes, block.scales);
    pack_4bit(fit.codes, block.qs);
    for (int l = 0; l < 32; ++l) {
        int high = 0;
        for (int g = 0; g < 8; ++g) high |= (fit.codes[32 * g + l] >> 4) << g;
        block.qh[l] = uint8_t(high);
    }
}

} // namespace

void q5_k_to_float(const void * src, float * dst, int64_t n) {
    const auto * block = static_cast<const BlockQ5_K *>(src);
    for (; n > 0; n -= kSuperBlock, ++block) {
        const float d = half_to_float(block->d);
        const float dmin = half_to_float(block->dmin);
        for (int g = 0; g < 8; ++g, dst += 32) {
            const GroupScale s = unpack_6bit(block->scales, g);
            const float scale = d * float(s.scale);
            const float offset = dmin * float(s.offset);
            const uint8_t * qs = block->qs + 32 * (g / 2);
            const int shift = 4 * (g % 2);
            for (int l = 0; l < 32; ++l) {
                const int code = ((qs[l] >> shift) & 15) | ((block->qh[l] >> g) & 1) << 4;
                dst[l] = scale * float(code) - offset;
            }
        }
    }
}

void float_to_q5_k(const float * src, void * dst, int64_t n) {
    auto * block = static_cast<BlockQ5_K *>(dst);
    for (; n > 0; n -= kSuperBlock, src += kSuperBlock, ++block) encode(src, nullptr, *block);
}

void float_to_q5_k_weighted(const float * src, void * dst, int64_t n, const float * importance) {
    auto * block = static_cast<BlockQ5_K *>(dst);
    for (int64_t i = 0; i < n; i += kSuperBlock, ++block) encode(src + i, importance + i, *block);
}

} // namespace ggml
