// Transposing pieces of float matrices in registers, for any Highway target.
//
// Include after hwy/highway.h in a per-target file (see simd_targets.h).
#if defined(GGML_CPU_ISA_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#    ifdef GGML_CPU_ISA_TRANSPOSE_INL_H_
#        undef GGML_CPU_ISA_TRANSPOSE_INL_H_
#    else
#        define GGML_CPU_ISA_TRANSPOSE_INL_H_
#    endif

#    include "hwy/highway.h"

#    include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// dst[j][0..3] = src[0..3][j] for j < n; rows of dst are `stride` floats apart. No alignment needed.
HWY_INLINE void transpose_4_rows(const float * const (&src)[4], int64_t n, float * dst, int64_t stride) {
    int64_t j = 0;
#    if HWY_TARGET != HWY_SCALAR
    const hn::FixedTag<float, 4> four;
    for (; j + 4 <= n; j += 4, dst += 4 * stride) {
        const auto a = hn::LoadU(four, src[0] + j), b = hn::LoadU(four, src[1] + j);
        const auto c = hn::LoadU(four, src[2] + j), d = hn::LoadU(four, src[3] + j);
        const auto ab_low = hn::InterleaveLower(four, a, b), ab_high = hn::InterleaveUpper(four, a, b);
        const auto cd_low = hn::InterleaveLower(four, c, d), cd_high = hn::InterleaveUpper(four, c, d);
        hn::StoreU(hn::ConcatLowerLower(four, cd_low, ab_low), four, dst);
        hn::StoreU(hn::ConcatUpperUpper(four, cd_low, ab_low), four, dst + stride);
        hn::StoreU(hn::ConcatLowerLower(four, cd_high, ab_high), four, dst + 2 * stride);
        hn::StoreU(hn::ConcatUpperUpper(four, cd_high, ab_high), four, dst + 3 * stride);
    }
#    endif
    for (; j < n; ++j, dst += stride) {
        for (int i = 0; i < 4; ++i) dst[i] = src[i][j];
    }
}

// dst[c][r] = src[r][c]; strides in floats. Works in blocks of one cache line, so that lines of dst are
// written whole while they are near.
HWY_INLINE void transpose_matrix(const float * src, int64_t src_stride, int64_t rows, int64_t cols,
                                 float * dst, int64_t dst_stride) {
    constexpr int64_t kBlock = 16;
    for (int64_t c = 0; c < cols; c += kBlock) {
        const int64_t n = cols - c < kBlock ? cols - c : kBlock;
        const float * in = src + c;
        float * out = dst + c * dst_stride;
        int64_t r = 0;
        for (; r + 4 <= rows; r += 4) {
            const float * at = in + r * src_stride;
            const float * const four_rows[4] = {at, at + src_stride, at + 2 * src_stride,
                                                at + 3 * src_stride};
            transpose_4_rows(four_rows, n, out + r, dst_stride);
        }
        for (; r < rows; ++r) {
            for (int64_t j = 0; j < n; ++j) out[j * dst_stride + r] = in[r * src_stride + j];
        }
    }
}

} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
