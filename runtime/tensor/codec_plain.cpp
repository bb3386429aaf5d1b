#include "runtime/base/half.h"
#include "runtime/tensor/codecs.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace ggml {
namespace {

template <class T>
void widen(const void * src, float * dst, int64_t n) {
    const T * from = static_cast<const T *>(src);
    for (int64_t i = 0; i < n; ++i) dst[i] = float(from[i]);
}

template <class Integer>
void saturate(const float * src, void * dst, int64_t n) {
    Integer * to = static_cast<Integer *>(dst);
    // For 32 and 64 bits the largest value is no float; the next float above it is a power of two.
    constexpr float kLow = float(std::numeric_limits<Integer>::min());
    for (int64_t i = 0; i < n; ++i) {
        const float v = src[i];
        if (std::isnan(v)) {
            to[i] = 0;
        } else if (v >= -kLow) {
            to[i] = std::numeric_limits<Integer>::max();
        } else {
            to[i] = v <= kLow ? std::numeric_limits<Integer>::min() : Integer(v);
        }
    }
}

} // namespace

void f32_to_float(const void * src, float * dst, int64_t n) {
    if (n > 0) std::memcpy(dst, src, size_t(n) * sizeof(float));
}

void float_to_f32(const float * src, void * dst, int64_t n) {
    if (n > 0) std::memcpy(dst, src, size_t(n) * sizeof(float));
}

void f16_to_float(const void * src, float * dst, int64_t n) {
    const uint16_t * from = static_cast<const uint16_t *>(src);
    for (int64_t i = 0; i < n; ++i) dst[i] = half_to_float(from[i]);
}

void float_to_f16(const float * src, void * dst, int64_t n) {
    uint16_t * to = static_cast<uint16_t *>(dst);
    for (int64_t i = 0; i < n; ++i) to[i] = float_to_half(src[i]);
}

void bf16_row_to_float(const void * src, float * dst, int64_t n) {
    const uint16_t * from = static_cast<const uint16_t *>(src);
    for (int64_t i = 0; i < n; ++i) dst[i] = bf16_to_float(from[i]);
}

void float_to_bf16_row(const float * src, void * dst, int64_t n) {
    uint16_t * to = static_cast<uint16_t *>(dst);
    for (int64_t i = 0; i < n; ++i) to[i] = float_to_bf16(src[i]);
}

void f64_to_float(const void * src, float * dst, int64_t n) { widen<double>(src, dst, n); }

void float_to_f64(const float * src, void * dst, int64_t n) {
    double * to = static_cast<double *>(dst);
    for (int64_t i = 0; i < n; ++i) to[i] = double(src[i]);
}

void i8_to_float(const void * src, float * dst, int64_t n) { widen<int8_t>(src, dst, n); }

void i16_to_float(const void * src, float * dst, int64_t n) { widen<int16_t>(src, dst, n); }

void i32_to_float(const void * src, float * dst, int64_t n) { widen<int32_t>(src, dst, n); }

void i64_to_float(const void * src, float * dst, int64_t n) { widen<int64_t>(src, dst, n); }

void float_to_i8(const float * src, void * dst, int64_t n) { saturate<int8_t>(src, dst, n); }

void float_to_i16(const float * src, void * dst, int64_t n) { saturate<int16_t>(src, dst, n); }

void float_to_i32(const float * src, void * dst, int64_t n) { saturate<int32_t>(src, dst, n); }

void float_to_i64(const float * src, void * dst, int64_t n) { saturate<int64_t>(src, dst, n); }

} // namespace ggml

float ggml_fp16_to_fp32(ggml_fp16_t x) { return ggml::half_to_float(x); }

ggml_fp16_t ggml_fp32_to_fp16(float x) { return ggml::float_to_half(x); }

float ggml_bf16_to_fp32(ggml_bf16_t x) { return ggml::bf16_to_float(x.bits); }

ggml_bf16_t ggml_fp32_to_bf16(float x) { return {ggml::float_to_bf16(x)}; }

void ggml_fp16_to_fp32_row(const ggml_fp16_t * x, float * y, int64_t n) { ggml::f16_to_float(x, y, n); }

void ggml_fp32_to_fp16_row(const float * x, ggml_fp16_t * y, int64_t n) { ggml::float_to_f16(x, y, n); }

void ggml_bf16_to_fp32_row(const ggml_bf16_t * x, float * y, int64_t n) { ggml::bf16_row_to_float(x, y, n); }

void ggml_fp32_to_bf16_row(const float * x, ggml_bf16_t * y, int64_t n) { ggml::float_to_bf16_row(x, y, n); }

void ggml_fp32_to_bf16_row_ref(const float * x, ggml_bf16_t * y, int64_t n) {
    ggml::float_to_bf16_row(x, y, n);
}
