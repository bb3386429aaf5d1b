#include "backends/cpu/kernels/reduce/sum_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/reduce/sum_simd.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

double sum_floats(const float * x, int64_t n) {
    constexpr int64_t kLanes = 16;
    const hn::CappedTag<double, 8> d;
    const hn::Rebind<float, decltype(d)> df;
    constexpr int64_t kWidth = int64_t(hn::MaxLanes(d)), kVectors = kLanes / kWidth;

    hn::Vec<decltype(d)> sums[kVectors];
    for (auto & s : sums) s = hn::Zero(d);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int64_t v = 0; v < kVectors; ++v) {
            sums[v] = hn::Add(sums[v], hn::PromoteTo(d, hn::LoadU(df, x + i + v * kWidth)));
        }
    }
    HWY_ALIGN double lanes[kLanes];
    for (int64_t v = 0; v < kVectors; ++v) hn::Store(sums[v], d, lanes + v * kWidth);
    for (int64_t rest = i; rest < n; ++rest) lanes[rest - i] += double(x[rest]);
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
        for (int64_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    }
    return lanes[0];
}

} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ggml::cpu {

HWY_EXPORT(sum_floats);

double sum_floats(const float * x, int64_t n) { return HWY_DYNAMIC_DISPATCH(sum_floats)(x, n); }

} // namespace ggml::cpu
#endif
