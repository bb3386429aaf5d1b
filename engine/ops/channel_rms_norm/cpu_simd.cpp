#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/channel_rms_norm/cpu_simd.cpp"
#include "ops/common/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/channel_rms_norm/cpu.h"
#include "ops/common/activations-inl.h"
#include "ops/common/float_vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {
namespace {

// Pixels side by side in a vector. Whole vectors, then the rest; Access says which.
struct Whole {
    HWY_INLINE Float load(const float * p) const { return hn::LoadU(FloatTag(), p); }
    HWY_INLINE void store(Float v, float * p) const { hn::StoreU(v, FloatTag(), p); }
};
struct Part {
    int64_t n;
    HWY_INLINE Float load(const float * p) const { return load_part(p, n); }
    HWY_INLINE void store(Float v, float * p) const { store_part(v, p, n); }
};

// Not MulAdd: squares are rounded.
template <class Access>
HWY_INLINE void add_squares(const ChannelNormSpan & s, int64_t c, int64_t i, float * sums, Access access) {
    const FloatTag d;
    const Float v = access.load(s.x + c * s.plane + i);
    hn::Store(hn::Add(hn::Load(d, sums + i), hn::Mul(v, v)), d, sums + i);
}

template <bool kSilu, class Access>
HWY_INLINE void scale(const ChannelNormSpan & s, int64_t c, int64_t i, const float * factors, Access access) {
    const FloatTag d;
    const Float v = hn::Mul(access.load(s.x + c * s.plane + i), hn::Load(d, factors + i));
    const Float z = hn::Mul(v, hn::Set(d, s.gamma[c]));
    if constexpr (kSilu)
        access.store(Silu()(z), s.y + c * s.plane + i);
    else
        access.store(z, s.y + c * s.plane + i);
}

template <bool kSilu>
HWY_INLINE void scale_all(const ChannelNormSpan & s, const float * factors) {
    const int64_t lanes = float_lanes(), whole = s.pixels / lanes * lanes;
    for (int64_t c = 0; c < s.channels; ++c) {
        for (int64_t i = 0; i < whole; i += lanes) scale<kSilu>(s, c, i, factors, Whole());
        if (whole < s.pixels) scale<kSilu>(s, c, whole, factors, Part{s.pixels - whole});
    }
}

void channel_norm_span(const ChannelNormSpan & s) {
    const FloatTag d;
    const int64_t lanes = float_lanes(), whole = s.pixels / lanes * lanes;
    HWY_ALIGN float sums[ChannelNormSpan::kMaxPixels + HWY_MAX_BYTES / sizeof(float)] = {};
    for (int64_t c = 0; c < s.channels; ++c) {
        for (int64_t i = 0; i < whole; i += lanes) add_squares(s, c, i, sums, Whole());
        if (whole < s.pixels) add_squares(s, c, whole, sums, Part{s.pixels - whole});
    }
    const Float one = hn::Set(d, 1.0f), channels = hn::Set(d, float(s.channels)), eps = hn::Set(d, s.eps);
    for (int64_t i = 0; i < s.pixels; i += lanes) {
        const Float mean = hn::Div(hn::Load(d, sums + i), channels);
        hn::Store(hn::Div(one, hn::Sqrt(hn::Add(mean, eps))), d, sums + i);
    }
    if (s.silu)
        scale_all<true>(s, sums);
    else
        scale_all<false>(s, sums);
}

} // namespace
} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sd {

HWY_EXPORT(channel_norm_span);

void channel_norm_span_simd(const ChannelNormSpan & span) { HWY_DYNAMIC_DISPATCH(channel_norm_span)(span); }

} // namespace sd
#endif
