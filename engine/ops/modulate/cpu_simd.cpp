#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/modulate/cpu_simd.cpp"
#include "ops/common/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/common/float_vector-inl.h"
#include "ops/modulate/cpu.h"

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {
namespace {

// Scale or shift as the loop sees it. Which of the three it is stands in the type: the loop has no branches.
struct Vector {
    const float * p;
    HWY_INLINE Float whole(int64_t i) const { return hn::LoadU(FloatTag(), p + i); }
    HWY_INLINE Float part(int64_t i, int64_t n) const { return load_part(p + i, n); }
};
struct Scalar {
    Float value;
    HWY_INLINE Float whole(int64_t) const { return value; }
    HWY_INLINE Float part(int64_t, int64_t) const { return value; }
};
struct None {
    HWY_INLINE None whole(int64_t) const { return {}; }
    HWY_INLINE None part(int64_t, int64_t) const { return {}; }
};

// Not MulAdd: the product is rounded.
HWY_INLINE Float modulated(Float x, Float scale, None) { return hn::Add(x, hn::Mul(x, scale)); }
HWY_INLINE Float modulated(Float x, Float scale, Float shift) {
    return hn::Add(modulated(x, scale, None()), shift);
}

template <int kRows, class Scale, class Shift>
HWY_INLINE void loop(const ModulateSpan & s, const float * x, float * y, Scale scales, Shift shifts) {
    const FloatTag d;
    const int64_t lanes = float_lanes();
    int64_t i = 0;
    for (; i + lanes <= s.n; i += lanes) {
        const auto scale = scales.whole(i);
        const auto shift = shifts.whole(i);
        for (int r = 0; r < kRows; ++r) {
            const Float v = hn::LoadU(d, x + r * s.x_row + i);
            hn::StoreU(modulated(v, scale, shift), d, y + r * s.y_row + i);
        }
    }
    if (i == s.n) return;
    const int64_t rest = s.n - i;
    const auto scale = scales.part(i, rest);
    const auto shift = shifts.part(i, rest);
    for (int r = 0; r < kRows; ++r) {
        const Float v = load_part(x + r * s.x_row + i, rest);
        store_part(modulated(v, scale, shift), y + r * s.y_row + i, rest);
    }
}

template <class Scale, class Shift>
HWY_INLINE void loops(const ModulateSpan & s, Scale scale, Shift shift) {
    if (s.rows == ModulateSpan::kMaxRows) return loop<ModulateSpan::kMaxRows>(s, s.x, s.y, scale, shift);
    for (int r = 0; r < s.rows; ++r) loop<1>(s, s.x + r * s.x_row, s.y + r * s.y_row, scale, shift);
}

template <class Scale>
HWY_INLINE void with_shift(const ModulateSpan & s, Scale scale) {
    if (s.shift == nullptr) {
        loops(s, scale, None());
    } else if (s.shift_step == 0) {
        loops(s, scale, Scalar{hn::Set(FloatTag(), *s.shift)});
    } else {
        loops(s, scale, Vector{s.shift});
    }
}

void modulate_span(const ModulateSpan & s) {
    if (s.scale_step == 0) {
        with_shift(s, Scalar{hn::Set(FloatTag(), *s.scale)});
    } else {
        with_shift(s, Vector{s.scale});
    }
}

} // namespace
} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sd {

HWY_EXPORT(modulate_span);

void modulate_span_simd(const ModulateSpan & span) { HWY_DYNAMIC_DISPATCH(modulate_span)(span); }

} // namespace sd
#endif
