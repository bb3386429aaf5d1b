// NEON with dot products, which are signed by signed: tiles of eight rows by eight columns, sixteen sums.
#include "kernels/cpu/int8_gemm.h"
#include "ops/common/target.h"

#include <cstring>

#if defined(__aarch64__)

SD_TARGET_NEON_DOTPROD
namespace sd {
namespace {

#    include "kernels/cpu/int8_gemm_pack_inl.h"

constexpr int kRows = 8, kColumns = 8;

template <int Rows>
void tile_rows(int32_t * sums, const int8_t * panel, const int8_t * acts, const int32_t * start,
               int64_t steps) {
    int32x4_t acc[Rows][2];
#    pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) acc[r][0] = acc[r][1] = vdupq_n_s32(start[r]);
    for (int64_t s = 0; s < steps; ++s, panel += 4 * kColumns, acts += 4 * Rows) {
        const int8x16_t w0 = vld1q_s8(panel), w1 = vld1q_s8(panel + 16);
#    pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            int32_t four;
            std::memcpy(&four, acts + 4 * r, sizeof four);
            const int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(four));
            acc[r][0] = vdotq_s32(acc[r][0], w0, a);
            acc[r][1] = vdotq_s32(acc[r][1], w1, a);
        }
    }
#    pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        vst1q_s32(sums + kColumns * r, acc[r][0]);
        vst1q_s32(sums + kColumns * r + 4, acc[r][1]);
    }
}

void tile(int32_t * sums, const uint8_t * panel, const void * packed, const int32_t * start, int m,
          int64_t steps) {
    const int8_t * w = reinterpret_cast<const int8_t *>(panel);
    const int8_t * acts = static_cast<const int8_t *>(packed);
    switch (m) {
    case 1: return tile_rows<1>(sums, w, acts, start, steps);
    case 2: return tile_rows<2>(sums, w, acts, start, steps);
    case 3: return tile_rows<3>(sums, w, acts, start, steps);
    case 4: return tile_rows<4>(sums, w, acts, start, steps);
    case 5: return tile_rows<5>(sums, w, acts, start, steps);
    case 6: return tile_rows<6>(sums, w, acts, start, steps);
    case 7: return tile_rows<7>(sums, w, acts, start, steps);
    default: return tile_rows<8>(sums, w, acts, start, steps);
    }
}

// Four weight rows side by side; the last of a matrix stand in for those that do not exist.
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
            for (int r = 0; r < Rows; ++r)
                acc[r][c] = vdotq_s32(acc[r][c], v, vld1q_s8(rows + size_t(r) * row_bytes + i));
        }
    };
    int64_t i = 0;
    for (; i + 16 <= k; i += 16) add(i, p, i);
    if (i < k) { // what the rows are padded with is zero
        int8_t last[4][16] = {};
        for (int c = 0; c < 4; ++c) std::memcpy(last[c], p[c] + i, size_t(k - i));
        const int8_t * const from[4] = {last[0], last[1], last[2], last[3]};
        add(i, from, 0);
    }
    for (int r = 0; r < Rows; ++r) {
        for (int c = 0; c < n; ++c)
            sums[r * sums_stride + c] = int32_t(uint32_t(vaddvq_s32(acc[r][c])) + uint32_t(start[r]));
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

constexpr Int8Gemm kGemm = {kRows,
                            kColumns,
                            4,
                            1,
                            0,
                            16,
                            pack_panel_plain<kColumns, 4, 0>,
                            pack_rows_plain<int8_t, 4, 0>,
                            tile,
                            scale_row_plain,
                            prepare_row_plain<int8_t, 16, 0>,
                            dots};

} // namespace
} // namespace sd
SD_TARGET_END

const sd::Int8Gemm & sd::int8_gemm_neon_dotprod() { return sd::kGemm; }

#endif
