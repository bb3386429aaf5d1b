// NEON with dot products. Tiles are those of INT8 products; panels keep the order of K.
#include "kernels/cpu/int4_gemm.h"
#include "ops/common/target.h"

#include <cstring>

#if defined(__aarch64__)

SD_TARGET_NEON_DOTPROD
namespace sd {
namespace {

constexpr int kColumns = 8, kBytes = 16; // of a weight row that one vector takes

// Thirty-two weights of a row, in order, four at a time into their places.
inline void put_column(uint8_t * out, int8x16_t v, int groups) {
    const int8x16_t even = vshrq_n_s8(vshlq_n_s8(v, 4), 4), odd = vshrq_n_s8(v, 4);
    int32_t weights[8];
    vst1q_s32(weights, vreinterpretq_s32_s8(vzip1q_s8(even, odd)));
    vst1q_s32(weights + 4, vreinterpretq_s32_s8(vzip2q_s8(even, odd)));
    for (int j = 0; j < groups; ++j) std::memcpy(out + 4 * kColumns * j, weights + j, sizeof(int32_t));
}

void pack_panel(uint8_t * panel, const int8_t * w, int64_t stride, int n, int64_t k) {
    for (int64_t i = 0; i < k / 2; i += kBytes) {
        const int64_t left = k / 2 - i;
        for (int c = 0; c < n; ++c) {
            uint8_t * out = panel + 2 * i * kColumns + 4 * c;
            const int8_t * from = w + c * stride + i;
            if (left >= kBytes) {
                put_column(out, vld1q_s8(from), 8);
                continue;
            }
            int8_t last[kBytes] = {};
            std::memcpy(last, from, size_t(left));
            put_column(out, vld1q_s8(last), int(left + 1) / 2);
        }
    }
}

// The codes of the even columns of 32, then those of the odd ones.
void prepare_row(void * row, int32_t * start, const int8_t * codes, int64_t k) {
    int8_t * out = static_cast<int8_t *>(row);
    for (int64_t i = 0; i < k; i += 2 * kBytes, out += 2 * kBytes) {
        int8_t part[2 * kBytes] = {};
        std::memcpy(part, codes + i, size_t(k - i < 2 * kBytes ? k - i : 2 * kBytes));
        const int8x16x2_t split = vld2q_s8(part);
        vst1q_s8(out, split.val[0]);
        vst1q_s8(out + kBytes, split.val[1]);
    }
    *start = 0;
}

// Four weight rows side by side; the last of a matrix stand in for those that do not exist. Nibbles in the
// upper half of a byte are sixteen times their weights: 16 * 8 * 128 * K is 2^31 for K = 2^17, so such sums
// are exact too.
template <int Rows>
void dots4(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, int n, const int8_t * rows,
           size_t row_bytes, const int32_t * start, int64_t k) {
    const int8_t * p[4];
    for (int c = 0; c < 4; ++c) p[c] = w + (c < n ? c : n - 1) * stride;
    int32x4_t acc[Rows][4];
    for (int r = 0; r < Rows; ++r) acc[r][0] = acc[r][1] = acc[r][2] = acc[r][3] = vdupq_n_s32(0);
    const auto add = [&](int64_t i, const int8_t * const(&from)[4], int64_t at) {
        for (int c = 0; c < 4; ++c) {
            const int8x16_t v = vld1q_s8(from[c] + at);
            const int8x16_t even = vshlq_n_s8(v, 4), odd = vandq_s8(v, vdupq_n_s8(int8_t(0xf0)));
            for (int r = 0; r < Rows; ++r) {
                const int8_t * x = rows + size_t(r) * row_bytes + 2 * i;
                acc[r][c] = vdotq_s32(vdotq_s32(acc[r][c], even, vld1q_s8(x)), odd, vld1q_s8(x + kBytes));
            }
        }
    };
    const int64_t bytes = k / 2;
    int64_t i = 0;
    for (; i + kBytes <= bytes; i += kBytes) add(i, p, i);
    if (i < bytes) { // what the rows are padded with is zero
        int8_t last[4][kBytes] = {};
        for (int c = 0; c < 4; ++c) std::memcpy(last[c], p[c] + i, size_t(bytes - i));
        const int8_t * const from[4] = {last[0], last[1], last[2], last[3]};
        add(i, from, 0);
    }
    for (int r = 0; r < Rows; ++r) {
        for (int c = 0; c < n; ++c) sums[r * sums_stride + c] = vaddvq_s32(acc[r][c]) / 16 + start[r];
    }
}

void dots(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, int n, const void * rows,
          size_t row_bytes, const int32_t * start, int m, int64_t k) {
    const int8_t * acts = static_cast<const int8_t *>(rows);
    for (int c = 0; c < n; c += 4) {
        const int8_t * p = w + c * stride;
        const int four = n - c < 4 ? n - c : 4;
        switch (m) {
        case 1: dots4<1>(sums + c, sums_stride, p, stride, four, acts, row_bytes, start, k); break;
        case 2: dots4<2>(sums + c, sums_stride, p, stride, four, acts, row_bytes, start, k); break;
        case 3: dots4<3>(sums + c, sums_stride, p, stride, four, acts, row_bytes, start, k); break;
        default: dots4<4>(sums + c, sums_stride, p, stride, four, acts, row_bytes, start, k); break;
        }
    }
}

} // namespace
} // namespace sd
SD_TARGET_END

namespace sd {

const Int8Gemm & int4_gemm_neon_dotprod() {
    static const Int8Gemm gemm = [] {
        Int8Gemm g = int8_gemm_neon_dotprod();
        g.row_pad = 2 * kBytes;
        g.pack_panel = pack_panel;
        g.prepare_row = prepare_row;
        g.dots = dots;
        return g;
    }();
    return gemm;
}

} // namespace sd

#endif
