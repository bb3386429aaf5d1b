// VNNI in 256-bit registers, for processors that have it without AVX-512.
#include "backends/cpu/isa/target.h"
#include "backends/cpu/kernels/matmul/quant_activations.h"
#include "backends/cpu/kernels/matmul/quant_kernels.h"
#include "backends/cpu/kernels/matmul/quant_table.h"

#include <cstring>

#if defined(__x86_64__)

GGML_TARGET_BEGIN_AVXVNNI
namespace ggml::cpu::matmul {
namespace {

struct Isa {
    static constexpr int kRows = 6;
    static __m256i dot(__m256i sum, __m256i u, __m256i s) { return _mm256_dpbusd_avx_epi32(sum, u, s); }
    static __m256i dot_q8_0(__m256i sum, __m256i u, __m256i s) { return dot(sum, u, s); }
};

#    define GGML_TILE_STEPS _Pragma("GCC unroll 8")
#    include "backends/cpu/kernels/matmul/quant_x86_inl.h"
#    include "backends/cpu/kernels/matmul/quant_x86_tile_inl.h"

} // namespace
} // namespace ggml::cpu::matmul
GGML_TARGET_END

namespace ggml::cpu::matmul {

const QuantKernels & quant_kernels_avxvnni() {
    static constexpr QuantKernels kernels =
        GGML_QUANT_TABLE("avxvnni", tile, GGML_NO_TILES, false, pack_panel, dot_rows, quantize_rows);
    return kernels;
}

} // namespace ggml::cpu::matmul

#endif
