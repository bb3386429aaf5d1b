// Loops over contiguous rows of floats for any Highway target: element by element with one, two or three
// inputs, and reductions. The last partial vector goes through a small buffer, so nothing outside the row is
// touched. Reductions add in a fixed order that depends on the length and the target only.
#if defined(GGML_CPU_ISA_VECTOR_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#    ifdef GGML_CPU_ISA_VECTOR_ROWS_INL_H_
#        undef GGML_CPU_ISA_VECTOR_ROWS_INL_H_
#    else
#        define GGML_CPU_ISA_VECTOR_ROWS_INL_H_
#    endif

#    include "backends/cpu/isa/vector_math-inl.h"
#    include "hwy/highway.h"

#    include <cstdint>
#    include <cstring>

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {

using FloatTag = hn::ScalableTag<float>;
constexpr size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

// The first n < Lanes(d) floats of p, the other lanes `fill`.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V load_part(D d, const float * p, int64_t n, float fill = 0.0f) {
    HWY_ALIGN float part[kMaxLanes];
    hn::Store(hn::Set(d, fill), d, part);
    std::memcpy(part, p, size_t(n) * sizeof(float));
    return hn::Load(d, part);
}

template <class D, class V>
HWY_INLINE void store_part(D d, V v, float * p, int64_t n) {
    HWY_ALIGN float part[kMaxLanes];
    hn::Store(v, d, part);
    std::memcpy(p, part, size_t(n) * sizeof(float));
}

// y[i] = f(d, x[i]); y may be x.
template <class F>
HWY_INLINE void map_row(const float * x, float * y, int64_t n, const F & f) {
    const FloatTag d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) hn::StoreU(f(d, hn::LoadU(d, x + i)), d, y + i);
    if (i < n) store_part(d, f(d, load_part(d, x + i, n - i)), y + i, n - i);
}

// z[i] = f(d, x[i], y[i]); z may be x or y.
template <class F>
HWY_INLINE void map_rows(const float * x, const float * y, float * z, int64_t n, const F & f) {
    const FloatTag d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        hn::StoreU(f(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, z + i);
    }
    if (i < n) store_part(d, f(d, load_part(d, x + i, n - i), load_part(d, y + i, n - i)), z + i, n - i);
}

// Sum of float vectors in double lanes: two accumulators, low and high half, each adding in row order.
class DoubleSum {
  public:
    using D = FloatTag;
    using VD = hn::Vec<DoubleTag<D>>;

    HWY_INLINE DoubleSum() : low_(hn::Zero(DoubleTag<D>())), high_(hn::Zero(DoubleTag<D>())) {}

    template <class V>
    HWY_INLINE void add(V v) {
        VD low, high;
        promote_pair(D(), v, low, high);
        low_ = hn::Add(low_, low);
        if (HWY_TARGET != HWY_SCALAR) high_ = hn::Add(high_, high);
    }
    // Squares of floats are exact in double, so only the additions round.
    template <class V>
    HWY_INLINE void add_square(V v) {
        VD low, high;
        promote_pair(D(), v, low, high);
        low_ = hn::MulAdd(low, low, low_);
        if (HWY_TARGET != HWY_SCALAR) high_ = hn::MulAdd(high, high, high_);
    }
    HWY_INLINE double total() const {
        const DoubleTag<D> dd;
        return hn::GetLane(hn::SumOfLanes(dd, hn::Add(low_, high_)));
    }

  private:
    VD low_, high_;
};

} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
