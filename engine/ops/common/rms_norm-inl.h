// The factor of a row's RMS norm, for any Highway target, with the bits of the CPU's RMS_NORM kernel: that
// works in blocks of kNormBlock elements and adds the squares of each half of a vector in double lanes.
#if defined(SD_OPS_COMMON_RMS_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#    ifdef SD_OPS_COMMON_RMS_NORM_INL_H_
#        undef SD_OPS_COMMON_RMS_NORM_INL_H_
#    else
#        define SD_OPS_COMMON_RMS_NORM_INL_H_
#    endif

#    include "hwy/highway.h"
#    include "ops/common/float_vector-inl.h"

#    include <algorithm>
#    include <cmath>
#    include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {

constexpr int64_t kNormBlock = 1024;

#    if HWY_TARGET == HWY_SCALAR
using Wide = hn::Rebind<double, FloatTag>;
#    else
using Wide = hn::Repartition<double, FloatTag>;
#    endif

class SumOfSquares {
  public:
    HWY_INLINE SumOfSquares() : low_(hn::Zero(Wide())), high_(hn::Zero(Wide())) {}
    HWY_INLINE void add(Float v) {
#    if HWY_TARGET == HWY_SCALAR
        const auto low = hn::PromoteTo(Wide(), v);
#    else
        const hn::Half<FloatTag> dh;
        const auto low = hn::PromoteTo(Wide(), hn::LowerHalf(dh, v));
        const auto high = hn::PromoteTo(Wide(), hn::UpperHalf(dh, v));
        high_ = hn::MulAdd(high, high, high_);
#    endif
        low_ = hn::MulAdd(low, low, low_);
    }
    HWY_INLINE double total() const { return hn::GetLane(hn::SumOfLanes(Wide(), hn::Add(low_, high_))); }

  private:
    hn::Vec<Wide> low_, high_;
};

HWY_INLINE double block_sum_squares(const float * x, int64_t n) {
    const int64_t lanes = float_lanes();
    SumOfSquares sum;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) sum.add(hn::LoadU(FloatTag(), x + i));
    if (i < n) sum.add(load_part(x + i, n - i));
    return sum.total();
}

// 1 / sqrt(mean of x^2 + eps)
HWY_INLINE float rms_norm_scale(const float * x, int64_t n, float eps) {
    double sum = 0;
    for (int64_t i = 0; i < n; i += kNormBlock) sum += block_sum_squares(x + i, std::min(kNormBlock, n - i));
    return float(1.0 / std::sqrt(sum / double(n) + eps));
}

} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
