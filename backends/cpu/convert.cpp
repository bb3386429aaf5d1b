#include "backends/cpu/convert.h"

#include "backends/cpu/isa/cpu_features.h"
#include "backends/cpu/isa/target.h"
#include "ggml-cpu.h"
#include "runtime/base/half.h"

#include <cstddef>
#include <cstring>

namespace ggml::cpu {
namespace {

#if defined(__x86_64__)
// The processor's own conversions do the same rounding (nearest even) and keep the top bits of a NaN's
// payload.
GGML_TARGET_BEGIN_AVX2
int64_t half_to_float_avx2(const uint16_t * src, float * dst, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i *>(src + i));
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(h));
    }
    return i;
}

int64_t float_to_half_avx2(const float * src, uint16_t * dst, int64_t n) {
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m128i h =
            _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm_storeu_si128(reinterpret_cast<__m128i *>(dst + i), h);
    }
    return i;
}
GGML_TARGET_END
#endif

} // namespace

void half_to_float_row(const uint16_t * src, float * dst, int64_t n) {
    int64_t i = 0;
#if defined(__x86_64__)
    if (cpu_features().avx2) i = half_to_float_avx2(src, dst, n);
#endif
    for (; i < n; ++i) dst[i] = half_to_float(src[i]);
}

void float_to_half_row(const float * src, uint16_t * dst, int64_t n) {
    int64_t i = 0;
#if defined(__x86_64__)
    if (cpu_features().avx2) i = float_to_half_avx2(src, dst, n);
#endif
    for (; i < n; ++i) dst[i] = float_to_half(src[i]);
}

// Shifts and adds only: the compiler vectorizes these loops for the baseline, and memory is the limit.
void bf16_to_float_row(const uint16_t * src, float * dst, int64_t n) {
    for (int64_t i = 0; i < n; ++i) dst[i] = bf16_to_float(src[i]);
}

void float_to_bf16_row(const float * src, uint16_t * dst, int64_t n) {
    for (int64_t i = 0; i < n; ++i) dst[i] = float_to_bf16(src[i]);
}

} // namespace ggml::cpu

extern "C" {

void ggml_cpu_fp32_to_fp32(const float * x, float * y, int64_t n) {
    if (n > 0) std::memmove(y, x, size_t(n) * sizeof(float));
}
void ggml_cpu_fp32_to_i32(const float * x, int32_t * y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = int32_t(x[i]);
}
void ggml_cpu_fp32_to_fp16(const float * x, ggml_fp16_t * y, int64_t n) {
    ggml::cpu::float_to_half_row(x, y, n);
}
void ggml_cpu_fp16_to_fp32(const ggml_fp16_t * x, float * y, int64_t n) {
    ggml::cpu::half_to_float_row(x, y, n);
}
void ggml_cpu_fp32_to_bf16(const float * x, ggml_bf16_t * y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i].bits = ggml::float_to_bf16(x[i]);
}
void ggml_cpu_bf16_to_fp32(const ggml_bf16_t * x, float * y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = ggml::bf16_to_float(x[i].bits);
}

} // extern "C"
