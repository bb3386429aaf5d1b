// AVX-VNNI: the dot product instruction without AVX-512.
#include "kernels/cpu/int4_gemm.h"
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
    static constexpr uint8_t kFlip = 0;
    static __m256i panel(const uint8_t * p) {
        return _mm256_load_si256(reinterpret_cast<const __m256i *>(p));
    }
    static __m256i chunk(const int8_t * w) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(w));
    }
    static __m256i add(__m256i sum, __m256i w, __m256i x) { return _mm256_dpbusd_avx_epi32(sum, w, x); }
    static __m256i add_two(__m256i sum, __m256i w0, __m256i x0, __m256i w1, __m256i x1) {
        return add(add(sum, w0, x0), w1, x1);
    }
};

#    include "kernels/cpu/int4_gemm_x86_inl.h"
#    include "kernels/cpu/int8_gemm_x86_inl.h"

#    include "kernels/cpu/int4_gemm_x86_256_inl.h"

} // namespace
} // namespace sd
SD_TARGET_END

const sd::Int8Gemm & sd::int4_gemm_avxvnni() {
    static constexpr Int8Gemm gemm = nibble_gemm();
    return gemm;
}

#endif
