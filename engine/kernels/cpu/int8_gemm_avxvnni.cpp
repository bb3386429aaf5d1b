// AVX-VNNI: the dot product instruction without AVX-512.
#include "kernels/cpu/int8_gemm.h"
#include "ops/common/target.h"

#include <cstring>

#if defined(__x86_64__)

SD_TARGET_AVXVNNI
namespace sd {
namespace {

#    include "kernels/cpu/int8_gemm_pack_inl.h"

struct Isa {
    using Act = int8_t;
    static constexpr int kStep = 4, kChunk = 32;
    static constexpr uint8_t kFlip = 0x80;
    static __m256i panel(const uint8_t * p) {
        return _mm256_load_si256(reinterpret_cast<const __m256i *>(p));
    }
    static __m256i chunk(const int8_t * w) {
        return _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(w)),
                                _mm256_set1_epi8(char(0x80)));
    }
    static __m256i add(__m256i sum, __m256i w, __m256i x) { return _mm256_dpbusd_avx_epi32(sum, w, x); }
};

#    include "kernels/cpu/int8_gemm_x86_inl.h"

} // namespace
} // namespace sd
SD_TARGET_END

const sd::Int8Gemm & sd::int8_gemm_avxvnni() { return sd::kGemm; }

#endif
