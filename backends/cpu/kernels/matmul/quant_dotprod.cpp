// ARM with SDOT, which multiplies signed by signed bytes. u up to 127 is a signed byte as it is; Q8_0's u
// gives its weight back by flipping the top bit, and needs no correction.
#include "backends/cpu/isa/target.h"
#include "backends/cpu/kernels/matmul/quant_activations.h"
#include "backends/cpu/kernels/matmul/quant_kernels.h"
#include "backends/cpu/kernels/matmul/quant_table.h"
#include "backends/cpu/kernels/matmul/quant_unpack.h"

#if defined(__aarch64__)

GGML_TARGET_BEGIN_DOTPROD
namespace ggml::cpu::matmul {
namespace {

struct Isa {
    static int32_t dot16(const uint8_t * u, const int8_t * q) {
        return vaddvq_s32(vdotq_s32(vdupq_n_s32(0), vreinterpretq_s8_u8(vld1q_u8(u)), vld1q_s8(q)));
    }
};

#    include "backends/cpu/kernels/matmul/quant_portable_inl.h"

// Q8_0 with its signed weights; act.correction is zero.
float dot_q8_0(const void * row, const ActRow & act, int64_t blocks) {
    const auto * w = static_cast<const BlockQ8_0 *>(row);
    float32x4_t acc = vdupq_n_f32(0);
    for (int64_t b = 0; b < blocks; ++b) {
        const int8_t * q = act.q + kBlock * b;
        int32x4_t sum = vdotq_s32(vdupq_n_s32(0), vld1q_s8(w[b].qs), vld1q_s8(q));
        sum = vdotq_s32(sum, vld1q_s8(w[b].qs + 16), vld1q_s8(q + 16));
        acc = vmlaq_n_f32(acc, vcvtq_f32_s32(sum), half_to_float(w[b].d) * act.d[b]);
    }
    return vaddvq_f32(acc);
}

template <ggml_type T>
float dot_any(const void * row, const ActRow & act, int64_t blocks) {
    if constexpr (T == GGML_TYPE_Q8_0)
        return dot_q8_0(row, act, blocks);
    else
        return dot_row<T>(row, act, blocks);
}

GGML_QUANT_DOT_ROWS(dot_rows, dot_any)

// Eight weight rows at a time: two vectors of sums for each of up to six activation rows.
template <int Rows, int Groups, bool Minimum, bool Q8>
void tile_columns(const TileArgs & args, const uint8_t * p, int column) {
    const ActBlock * acts = args.acts;
    const uint8x16_t flip = vdupq_n_u8(Q8 ? 0x80 : 0);
    float32x4_t acc[Rows][2];
    for (int r = 0; r < Rows; ++r) acc[r][0] = acc[r][1] = vdupq_n_f32(0);
    for (int64_t b = 0; b < args.blocks; ++b, acts += Rows, p += panel_block_bytes(Groups, Minimum)) {
        for (int g = 0; g < Groups; ++g) {
            int32x4_t sum[Rows][2];
            for (int r = 0; r < Rows; ++r)
                sum[r][0] = sum[r][1] = vdupq_n_s32(Minimum ? 0 : acts[r].correction[g]);
            for (int k = g * 8 / Groups; k < (g + 1) * 8 / Groups; ++k) {
                const int8x16_t w0 = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(p + 64 * k), flip));
                const int8x16_t w1 = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(p + 64 * k + 16), flip));
                for (int r = 0; r < Rows; ++r) {
                    int32_t four;
                    std::memcpy(&four, acts[r].q + 4 * k, sizeof four);
                    const int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(four));
                    sum[r][0] = vdotq_s32(sum[r][0], w0, a);
                    sum[r][1] = vdotq_s32(sum[r][1], w1, a);
                }
            }
            const float * scales = reinterpret_cast<const float *>(p + kPanelRows * kBlock) + kPanelRows * g;
            for (int r = 0; r < Rows; ++r) {
                for (int h = 0; h < 2; ++h) {
                    const float32x4_t product =
                        vmulq_f32(vcvtq_f32_s32(sum[r][h]), vld1q_f32(scales + 4 * h));
                    acc[r][h] = vfmaq_n_f32(acc[r][h], product, acts[r].d);
                    if constexpr (Minimum) {
                        const float32x4_t m = vld1q_f32(scales + kPanelRows * Groups + 4 * h);
                        acc[r][h] = vfmaq_n_f32(acc[r][h], m, acts[r].sum[g]);
                    }
                }
            }
        }
    }
    for (int r = 0; r < Rows; ++r) {
        for (int h = 0; h < 2; ++h) {
            float * out = args.out[r] + column + 4 * h;
            vst1q_f32(out, args.accumulate ? vaddq_f32(acc[r][h], vld1q_f32(out)) : acc[r][h]);
        }
    }
}

template <int Rows, int Groups, bool Minimum, bool Q8>
void tile_any(const TileArgs & args) {
    for (int column = 0; column < 2 * kPanelRows; column += 8) {
        // Eight rows are 32 bytes of u and 32 bytes of scales: one offset serves both.
        const uint8_t * p =
            args.panel + size_t(column / kPanelRows) * args.panel_stride + 4 * (column % kPanelRows);
        tile_columns<Rows, Groups, Minimum, Q8>(args, p, column);
    }
}

template <int Rows, int Groups, bool Minimum>
void tile(const TileArgs & args) {
    tile_any<Rows, Groups, Minimum, false>(args);
}
template <int Rows>
void tile_q8(const TileArgs & args) {
    tile_any<Rows, 1, false, true>(args);
}

} // namespace
} // namespace ggml::cpu::matmul
GGML_TARGET_END

namespace ggml::cpu::matmul {

const QuantKernels & quant_kernels_dotprod() {
    static constexpr QuantKernels kernels = GGML_QUANT_TABLE("dotprod", tile, GGML_QUANT_TILES_Q8_0(tile_q8),
                                                             true, pack_panel, dot_rows, quantize_rows);
    return kernels;
}

} // namespace ggml::cpu::matmul

#endif
