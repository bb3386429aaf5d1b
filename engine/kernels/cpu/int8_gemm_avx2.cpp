// AVX2. The byte multiplication of AVX2 saturates sums of two products at 16 bits, which full-range codes
// exceed; bytes are widened instead and multiplied as 16-bit numbers, whose pair sums fit into 32 bits.
#include "kernels/cpu/int8_gemm.h"
#include "ops/common/target.h"

#include <cstring>

#if defined(__x86_64__)

SD_TARGET_AVX2
namespace sd {
namespace {

#    include "kernels/cpu/int8_gemm_pack_inl.h"

struct Isa {
    using Act = int16_t;
    static constexpr int kStep = 2, kChunk = 16;
    static constexpr uint8_t kFlip = 0;
    static __m256i panel(const uint8_t * p) {
        return _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i *>(p)));
    }
    static __m256i chunk(const int8_t * w) {
        return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i *>(w)));
    }
    static __m256i add(__m256i sum, __m256i w, __m256i x) {
        return _mm256_add_epi32(sum, _mm256_madd_epi16(w, x));
    }
};

#    include "kernels/cpu/int8_gemm_x86_inl.h"

} // namespace
} // namespace sd
SD_TARGET_END

const sd::Int8Gemm & sd::int8_gemm_avx2() { return sd::kGemm; }

#endif
