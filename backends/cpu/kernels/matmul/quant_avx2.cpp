// AVX2 without VNNI. A product of four bytes is VPMADDUBSW and VPMADDWD; the first adds two products in 16
// bits with saturation, which is exact for u up to 127 (2 * 127 * 127 < 2^15). Q8_0 alone has larger ones:
// its weights are taken with their sign, as |w| times the activation with w's sign, at most 2 * 128 * 127 <
// 2^15.
#include "backends/cpu/isa/target.h"
#include "backends/cpu/kernels/matmul/quant_activations.h"
#include "backends/cpu/kernels/matmul/quant_kernels.h"
#include "backends/cpu/kernels/matmul/quant_table.h"

#include <cstring>

#if defined(__x86_64__)

GGML_TARGET_BEGIN_AVX2
namespace ggml::cpu::matmul {
namespace {

struct Isa {
    static constexpr int kRows = 3;
    static __m256i dot(__m256i sum, __m256i u, __m256i s) {
        return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), _mm256_set1_epi16(1)));
    }
    static __m256i dot_q8_0(__m256i sum, __m256i u, __m256i s) {
        const __m256i w = _mm256_xor_si256(u, _mm256_set1_epi8(int8_t(0x80)));
        return dot(sum, _mm256_abs_epi8(w), _mm256_sign_epi8(s, w));
    }
};

// Unrolled, GCC moves the temporaries of several steps together and spills the sums.
#    define GGML_TILE_STEPS _Pragma("GCC unroll 1")
#    include "backends/cpu/kernels/matmul/quant_x86_inl.h"
#    include "backends/cpu/kernels/matmul/quant_x86_tile_inl.h"

template <int Rows>
void tile_q8(const TileArgs & args) {
    tile_any<Rows, 1, false, true>(args);
}

} // namespace
} // namespace ggml::cpu::matmul
GGML_TARGET_END

namespace ggml::cpu::matmul {

const QuantKernels & quant_kernels_avx2() {
    static constexpr QuantKernels kernels = GGML_QUANT_TABLE("avx2", tile, GGML_QUANT_TILES_Q8_0(tile_q8),
                                                             true, pack_panel, dot_rows, quantize_rows);
    return kernels;
}

} // namespace ggml::cpu::matmul

#endif
