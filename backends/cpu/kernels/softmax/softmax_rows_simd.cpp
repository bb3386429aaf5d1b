#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/softmax/softmax_rows_simd.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "backends/cpu/isa/vector_rows-inl.h"
#include "backends/cpu/kernels/softmax/softmax_rows.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {
namespace {

struct ScaleMask {
    float scale, slope;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x, V mask) const {
        return hn::Add(hn::Mul(x, hn::Set(d, scale)), hn::Mul(hn::Set(d, slope), mask));
    }
};

float scale_mask_row(const float * x, float scale, const float * mask, float slope, float * y, int64_t n) {
    const FloatTag d;
    using V = hn::Vec<FloatTag>;
    const int64_t lanes = int64_t(hn::Lanes(d));
    const ScaleMask masked{scale, slope};
    V max = hn::Set(d, -HUGE_VALF);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const V v = hn::LoadU(d, x + i);
        const V t = mask != nullptr ? masked(d, v, hn::LoadU(d, mask + i)) : hn::Mul(v, hn::Set(d, scale));
        max = hn::Max(max, t);
        hn::StoreU(t, d, y + i);
    }
    float result = hn::GetLane(hn::MaxOfLanes(d, max));
    for (; i < n; ++i) {
        const float scaled = x[i] * scale;
        y[i] = mask != nullptr ? scaled + slope * mask[i] : scaled;
        result = y[i] > result ? y[i] : result;
    }
    return result;
}

double exp_sum_row(float * y, float max, int64_t n) {
    const FloatTag d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    const auto top = hn::Set(d, max);
    DoubleSum sum;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const auto e = vexp_nonpositive(d, hn::Sub(hn::LoadU(d, y + i), top));
        sum.add(e);
        hn::StoreU(e, d, y + i);
    }
    if (i < n) {
        // Missing lanes become exp(-inf) = 0; if max is -inf or NaN the whole row is NaN already.
        const auto e = vexp_nonpositive(d, hn::Sub(load_part(d, y + i, n - i, -HUGE_VALF), top));
        sum.add(e);
        store_part(d, e, y + i, n - i);
    }
    return sum.total();
}

} // namespace
} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ggml::cpu {

HWY_EXPORT(scale_mask_row);
HWY_EXPORT(exp_sum_row);

float scale_mask_row(const float * x, float scale, const float * mask, float slope, float * y, int64_t n) {
    return HWY_DYNAMIC_DISPATCH(scale_mask_row)(x, scale, mask, slope, y, n);
}
double exp_sum_row(float * y, float max, int64_t n) { return HWY_DYNAMIC_DISPATCH(exp_sum_row)(y, max, n); }

} // namespace ggml::cpu
#endif
