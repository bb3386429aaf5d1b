// AVX-512 with VNNI: tiles of six activation rows by 32 weight rows, and single rows, in 512-bit registers.
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12's AVX-512 intrinsics pass undefined registers on purpose and are then warned about at every use.
#    pragma GCC diagnostic ignored "-Wuninitialized"
#    pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "backends/cpu/isa/target.h"
#include "backends/cpu/kernels/matmul/quant_activations.h"
#include "backends/cpu/kernels/matmul/quant_kernels.h"
#include "backends/cpu/kernels/matmul/quant_table.h"

#include <bit>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)

GGML_TARGET_BEGIN_AVX512VNNI
namespace ggml::cpu::matmul {
namespace {

struct Isa {
    static __m256i dot(__m256i sum, __m256i u, __m256i s) { return _mm256_dpbusd_epi32(sum, u, s); }
    static __m256i dot_q8_0(__m256i sum, __m256i u, __m256i s) { return dot(sum, u, s); }
};

#    include "backends/cpu/kernels/matmul/quant_x86_inl.h"

#    include "backends/cpu/kernels/matmul/quant_avx512_rows_inl.h"

inline __m512i broadcast4(const int8_t * q) {
    int32_t four;
    std::memcpy(&four, q, sizeof four);
    return _mm512_set1_epi32(four);
}

// Adds one group of a block: kSteps * 4 elements of `Rows` rows times 32 weight rows.
template <int Rows, int Groups, bool Minimum, int Group>
inline __attribute__((always_inline)) void tile_group(const uint8_t * p0, const uint8_t * p1,
                                                      const ActBlock * acts, __m512 (&acc)[Rows][2]) {
    constexpr int kSteps = 8 / Groups;
    __m512i sum[Rows][2];
#    pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        sum[r][0] = Minimum ? _mm512_setzero_si512() : _mm512_set1_epi32(acts[r].correction[Group]);
        sum[r][1] = sum[r][0];
    }
#    pragma GCC unroll 8
    for (int k = Group * kSteps; k < (Group + 1) * kSteps; ++k) {
        const __m512i w0 = _mm512_load_si512(p0 + 64 * k), w1 = _mm512_load_si512(p1 + 64 * k);
#    pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const __m512i a = broadcast4(acts[r].q + 4 * k);
            sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], w0, a);
            sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], w1, a);
        }
    }
    const float * s0 = reinterpret_cast<const float *>(p0 + kPanelRows * kBlock) + kPanelRows * Group;
    const float * s1 = reinterpret_cast<const float *>(p1 + kPanelRows * kBlock) + kPanelRows * Group;
    const __m512 d0 = _mm512_load_ps(s0), d1 = _mm512_load_ps(s1);
#    pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        const __m512 a = _mm512_set1_ps(acts[r].d);
        acc[r][0] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum[r][0]), d0), a, acc[r][0]);
        acc[r][1] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum[r][1]), d1), a, acc[r][1]);
    }
    if constexpr (Minimum) {
        const __m512 m0 = _mm512_load_ps(s0 + kPanelRows * Groups),
                     m1 = _mm512_load_ps(s1 + kPanelRows * Groups);
#    pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const __m512 a = _mm512_set1_ps(acts[r].sum[Group]);
            acc[r][0] = _mm512_fmadd_ps(m0, a, acc[r][0]);
            acc[r][1] = _mm512_fmadd_ps(m1, a, acc[r][1]);
        }
    }
}

template <int Rows, int Groups, bool Minimum>
void tile(const TileArgs & args) {
    const uint8_t * p0 = args.panel;
    const uint8_t * p1 = args.panel + args.panel_stride;
    const ActBlock * acts = args.acts;
    __m512 acc[Rows][2];
#    pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) acc[r][0] = acc[r][1] = _mm512_setzero_ps();
    for (int64_t b = 0; b < args.blocks; ++b) {
        tile_group<Rows, Groups, Minimum, 0>(p0, p1, acts, acc);
        if constexpr (Groups == 2) tile_group<Rows, Groups, Minimum, 1>(p0, p1, acts, acc);
        p0 += panel_block_bytes(Groups, Minimum);
        p1 += panel_block_bytes(Groups, Minimum);
        acts += Rows;
    }
#    pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        float * out = args.out[r];
        if (args.accumulate) {
            acc[r][0] = _mm512_add_ps(acc[r][0], _mm512_loadu_ps(out));
            acc[r][1] = _mm512_add_ps(acc[r][1], _mm512_loadu_ps(out + 16));
        }
        _mm512_storeu_ps(out, acc[r][0]);
        _mm512_storeu_ps(out + 16, acc[r][1]);
    }
}

} // namespace
} // namespace ggml::cpu::matmul
GGML_TARGET_END

namespace ggml::cpu::matmul {

const QuantKernels & quant_kernels_avx512vnni() {
    static constexpr QuantKernels kernels =
        GGML_QUANT_TABLE("avx512vnni", tile, GGML_NO_TILES, false, pack_panel, dot_rows512, quantize_rows);
    return kernels;
}

} // namespace ggml::cpu::matmul

#endif
