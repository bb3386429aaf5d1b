// Vectors of floats for any Highway target: the last, partial vector of a row goes through a small buffer, so
// nothing outside the row is touched.
#if defined(SD_OPS_COMMON_FLOAT_VECTOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#    ifdef SD_OPS_COMMON_FLOAT_VECTOR_INL_H_
#        undef SD_OPS_COMMON_FLOAT_VECTOR_INL_H_
#    else
#        define SD_OPS_COMMON_FLOAT_VECTOR_INL_H_
#    endif

#    include "hwy/highway.h"

#    include <cstdint>
#    include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using FloatTag = hn::ScalableTag<float>;
using Float = hn::Vec<FloatTag>;

HWY_INLINE int64_t float_lanes() { return int64_t(hn::Lanes(FloatTag())); }

// n < lanes floats; the other lanes are 0.
HWY_INLINE Float load_part(const float * p, int64_t n) {
    HWY_ALIGN float part[HWY_MAX_BYTES / sizeof(float)] = {};
    std::memcpy(part, p, size_t(n) * sizeof(float));
    return hn::Load(FloatTag(), part);
}

HWY_INLINE void store_part(Float v, float * p, int64_t n) {
    HWY_ALIGN float part[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(v, FloatTag(), part);
    std::memcpy(p, part, size_t(n) * sizeof(float));
}

} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
