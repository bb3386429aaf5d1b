#include "runtime/tensor/blocks.h"
#include "runtime/tensor/codecs.h"
#include "runtime/tensor/rounding.h"

#include <limits>

namespace ggml {
namespace {

void encode(const float * x, BlockQ8_K & block) {
    block = {};
    if (!all_finite(x, kSuperBlock)) {
        block.d = std::numeric_limits<float>::quiet_NaN();
        return;
    }
    const float extreme = signed_extreme(x, kSuperBlock);
    if (extreme == 0.0f) return;
    // -127 and not -128, so that a code's magnitude always fits into an int8_t.
    const float inverse = -127.0f / extreme;
    block.d = 1.0f / inverse;
    for (int j = 0; j < kSuperBlock; ++j) block.qs[j] = int8_t(nearest_code(inverse * x[j], -128, 127));
    for (int g = 0; g < 16; ++g) {
        int sum = 0;
        for (int l = 0; l < 16; ++l) sum += block.qs[16 * g + l];
        block.bsums[g] = int16_t(sum);
    }
}

} // namespace

void q8_k_to_float(const void * src, float * dst, int64_t n) {
    const auto * block = static_cast<const BlockQ8_K *>(src);
    for (; n > 0; n -= kSuperBlock, dst += kSuperBlock, ++block) {
        for (int j = 0; j < kSuperBlock; ++j) dst[j] = block->d * float(block->qs[j]);
    }
}

void float_to_q8_k(const float * src, void * dst, int64_t n) {
    auto * block = static_cast<BlockQ8_K *>(dst);
    for (; n > 0; n -= kSuperBlock, src += kSuperBlock, ++block) encode(src, *block);
}

} // namespace ggml
