// The set for processors without a known integer product: the compiler's baseline.
#include "backends/cpu/kernels/matmul/quant_activations.h"
#include "backends/cpu/kernels/matmul/quant_kernels.h"
#include "backends/cpu/kernels/matmul/quant_table.h"
#include "backends/cpu/kernels/matmul/quant_unpack.h"

namespace ggml::cpu::matmul {
namespace {

struct Isa {
    static int32_t dot16(const uint8_t * u, const int8_t * q) {
        int32_t sum = 0;
        for (int i = 0; i < 16; ++i) sum += int32_t(u[i]) * q[i];
        return sum;
    }
};

#include "backends/cpu/kernels/matmul/quant_portable_inl.h"

GGML_QUANT_DOT_ROWS(dot_rows, dot_row)

// One activation row and one panel at a time: sixteen sums, a loop over lanes that any compiler vectorizes.
template <int Groups, bool Minimum>
void tile_row(const uint8_t * p, const ActBlock * act, int64_t act_stride, int64_t blocks, float * acc) {
    for (int64_t b = 0; b < blocks; ++b, p += panel_block_bytes(Groups, Minimum), act += act_stride) {
        const float * scales = reinterpret_cast<const float *>(p + kPanelRows * kBlock);
        for (int g = 0; g < Groups; ++g) {
            int32_t sum[kPanelRows];
            for (int32_t & s : sum) s = Minimum ? 0 : act->correction[g];
            for (int k = g * 8 / Groups; k < (g + 1) * 8 / Groups; ++k) {
                const uint8_t * u = p + 64 * k;
                const int8_t * q = act->q + 4 * k;
                for (int n = 0; n < kPanelRows; ++n) {
                    sum[n] +=
                        u[4 * n] * q[0] + u[4 * n + 1] * q[1] + u[4 * n + 2] * q[2] + u[4 * n + 3] * q[3];
                }
            }
            for (int n = 0; n < kPanelRows; ++n) {
                acc[n] += float(sum[n]) * scales[kPanelRows * g + n] * act->d;
                if constexpr (Minimum) acc[n] += scales[kPanelRows * (Groups + g) + n] * act->sum[g];
            }
        }
    }
}

template <int Rows, int Groups, bool Minimum>
void tile(const TileArgs & args) {
    for (int half = 0; half < 2; ++half) {
        for (int r = 0; r < Rows; ++r) {
            float acc[kPanelRows] = {};
            tile_row<Groups, Minimum>(args.panel + size_t(half) * args.panel_stride, args.acts + r, Rows,
                                      args.blocks, acc);
            float * out = args.out[r] + kPanelRows * half;
            for (int n = 0; n < kPanelRows; ++n) out[n] = args.accumulate ? out[n] + acc[n] : acc[n];
        }
    }
}

} // namespace

const QuantKernels & quant_kernels_portable() {
    static constexpr QuantKernels kernels =
        GGML_QUANT_TABLE("portable", tile, GGML_NO_TILES, false, pack_panel, dot_rows, quantize_rows);
    return kernels;
}

} // namespace ggml::cpu::matmul
