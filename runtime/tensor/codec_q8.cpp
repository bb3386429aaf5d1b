#include "runtime/tensor/blocks.h"
#include "runtime/tensor/codecs.h"
#include "runtime/tensor/rounding.h"

namespace ggml {
namespace {

// Codes of one block; returns the scale in full precision.
float encode_codes(const float * x, int8_t * qs) {
    const float d = largest_magnitude(x, kBlock) / 127.0f;
    const float inverse = inverse_scale(d);
    for (int j = 0; j < kBlock; ++j) qs[j] = int8_t(round_code(x[j] * inverse, -127, 127));
    return d;
}

} // namespace

void q8_0_to_float(const void * src, float * dst, int64_t n) {
    const auto * block = static_cast<const BlockQ8_0 *>(src);
    for (; n > 0; n -= kBlock, dst += kBlock, ++block) {
        const float d = half_to_float(block->d);
        for (int j = 0; j < kBlock; ++j) dst[j] = float(block->qs[j]) * d;
    }
}

void q8_1_to_float(const void * src, float * dst, int64_t n) {
    const auto * block = static_cast<const BlockQ8_1 *>(src);
    for (; n > 0; n -= kBlock, dst += kBlock, ++block) {
        const float d = half_to_float(block->d);
        for (int j = 0; j < kBlock; ++j) dst[j] = float(block->qs[j]) * d;
    }
}

void float_to_q8_0(const float * src, void * dst, int64_t n) {
    auto * block = static_cast<BlockQ8_0 *>(dst);
    for (; n > 0; n -= kBlock, src += kBlock, ++block) {
        if (!fits_half_scale(src, kBlock)) {
            *block = {kHalfNaN, {}};
            continue;
        }
        block->d = float_to_half(encode_codes(src, block->qs));
    }
}

void float_to_q8_1(const float * src, void * dst, int64_t n) {
    auto * block = static_cast<BlockQ8_1 *>(dst);
    for (; n > 0; n -= kBlock, src += kBlock, ++block) {
        if (!fits_half_scale(src, kBlock)) {
            *block = {kHalfNaN, kHalfNaN, {}};
            continue;
        }
        const float d = encode_codes(src, block->qs);
        int sum = 0;
        for (const int8_t q : block->qs) sum += q;
        block->d = float_to_half(d);
        block->s = float_to_half(float(sum) * d); // with the unrounded scale
    }
}

} // namespace ggml
