#include "backends/cpu/kernels/matmul/float_dot.h"

#include "runtime/base/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/matmul/float_dot.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::matmul::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// One vector of weights as floats, and one weight as float.
struct LoadF32 {
    using T = float;
    static HWY_INLINE V load(D d, const T * p) { return hn::LoadU(d, p); }
    static HWY_INLINE float one(const T * p) { return *p; }
};
struct LoadF16 {
    using T = uint16_t;
    static HWY_INLINE V load(D d, const T * p) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
        // Without an instruction for it, Highway's conversion does not know infinities and NaN.
        HWY_ALIGN float lanes[hn::MaxLanes(D())];
        for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = half_to_float(p[i]);
        return hn::Load(d, lanes);
#else
        const hn::Rebind<hwy::float16_t, D> d16;
        return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t *>(p)));
#endif
    }
    static HWY_INLINE float one(const T * p) { return half_to_float(*p); }
};
struct LoadBF16 {
    using T = uint16_t;
    static HWY_INLINE V load(D d, const T * p) {
        const hn::Rebind<hwy::bfloat16_t, D> d16;
        return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::bfloat16_t *>(p)));
    }
    static HWY_INLINE float one(const T * p) { return bf16_to_float(*p); }
};

template <class Load>
float dot(const typename Load::T * w, const float * x, int64_t n) {
    const D d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    // Four sums: the latency of a multiply-add is four times its issue interval, or more.
    V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    int64_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        s0 = hn::MulAdd(Load::load(d, w + i), hn::LoadU(d, x + i), s0);
        s1 = hn::MulAdd(Load::load(d, w + i + lanes), hn::LoadU(d, x + i + lanes), s1);
        s2 = hn::MulAdd(Load::load(d, w + i + 2 * lanes), hn::LoadU(d, x + i + 2 * lanes), s2);
        s3 = hn::MulAdd(Load::load(d, w + i + 3 * lanes), hn::LoadU(d, x + i + 3 * lanes), s3);
    }
    for (; i + lanes <= n; i += lanes) s0 = hn::MulAdd(Load::load(d, w + i), hn::LoadU(d, x + i), s0);
    float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
    for (; i < n; ++i) sum += Load::one(w + i) * x[i];
    return sum;
}

template <class Load>
void rows(const void * weights, size_t row_stride, int64_t n_rows, int64_t cols, const float * x, float * y) {
    const char * row = static_cast<const char *>(weights);
    for (int64_t n = 0; n < n_rows; ++n, row += row_stride) {
        y[n] = dot<Load>(reinterpret_cast<const typename Load::T *>(row), x, cols);
    }
}

void rows_f32(const void * w, size_t stride, int64_t n, int64_t cols, const float * x, float * y) {
    rows<LoadF32>(w, stride, n, cols, x, y);
}
void rows_f16(const void * w, size_t stride, int64_t n, int64_t cols, const float * x, float * y) {
    rows<LoadF16>(w, stride, n, cols, x, y);
}
void rows_bf16(const void * w, size_t stride, int64_t n, int64_t cols, const float * x, float * y) {
    rows<LoadBF16>(w, stride, n, cols, x, y);
}

} // namespace ggml::cpu::matmul::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ggml::cpu::matmul {

HWY_EXPORT(rows_f32);
HWY_EXPORT(rows_f16);
HWY_EXPORT(rows_bf16);

void dot_rows(ggml_type type, const void * weights, size_t row_stride, int64_t rows, int64_t cols,
              const float * x, float * y) {
    if (type == GGML_TYPE_F32)
        HWY_DYNAMIC_DISPATCH(rows_f32)(weights, row_stride, rows, cols, x, y);
    else if (type == GGML_TYPE_F16)
        HWY_DYNAMIC_DISPATCH(rows_f16)(weights, row_stride, rows, cols, x, y);
    else
        HWY_DYNAMIC_DISPATCH(rows_bf16)(weights, row_stride, rows, cols, x, y);
}

} // namespace ggml::cpu::matmul
#endif
