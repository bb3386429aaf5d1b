// AVX2. Its byte multiplication saturates sums of two products at 16 bits, which 2 * 15 * 128 is far from.
#include "kernels/cpu/int4_gemm.h"
#include "ops/common/target.h"

#include <cstring>

#if defined(__x86_64__)

SD_TARGET_AVX2
namespace sd {
namespace {

#    include "kernels/cpu/int8_gemm_pack_inl.h"

struct Isa {
    using Act = int8_t;
    static constexpr int kStep = 4, kChunk = 32;
    static constexpr uint8_t kFlip = 0;
    static __m256i panel(const uint8_t * p) {
        return _mm256_load_si256(reinterpret_cast<const __m256i *>(p));
    }
    static __m256i chunk(const int8_t * w) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(w));
    }
    static __m256i widened(__m256i pairs) { return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)); }
    static __m256i add(__m256i sum, __m256i w, __m256i x) {
        return _mm256_add_epi32(sum, widened(_mm256_maddubs_epi16(w, x)));
    }
    static __m256i add_two(__m256i sum, __m256i w0, __m256i x0, __m256i w1, __m256i x1) {
        const __m256i pairs = _mm256_add_epi16(_mm256_maddubs_epi16(w0, x0), _mm256_maddubs_epi16(w1, x1));
        return _mm256_add_epi32(sum, widened(pairs));
    }
};

#    include "kernels/cpu/int4_gemm_x86_inl.h"
#    include "kernels/cpu/int8_gemm_x86_inl.h"

#    include "kernels/cpu/int4_gemm_x86_256_inl.h"

} // namespace
} // namespace sd
SD_TARGET_END

const sd::Int8Gemm & sd::int4_gemm_avx2() {
    static constexpr Int8Gemm gemm = nibble_gemm();
    return gemm;
}

#endif
