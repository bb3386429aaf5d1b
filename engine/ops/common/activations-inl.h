// silu(x) = x / (1 + e^-x) and sigmoid(x) = 1 / (1 + e^-x) on vectors of floats, for any Highway target, with
// the bits of the CPU's own nodes: the same reduction, coefficients and order of operations. Only e^x for
// x <= 0 is needed: with e = e^-|x| nothing overflows on either side.
#if defined(SD_OPS_COMMON_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#    ifdef SD_OPS_COMMON_ACTIVATIONS_INL_H_
#        undef SD_OPS_COMMON_ACTIVATIONS_INL_H_
#    else
#        define SD_OPS_COMMON_ACTIVATIONS_INL_H_
#    endif

#    include "hwy/highway.h"
#    include "ops/common/float_vector-inl.h"

#    include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {

// p * 2^n for whole n from -151 to 0, rounded once. `shifted` has n in its low bits.
HWY_INLINE Float times_pow2(Float p, Float n, Float shifted) {
#    if HWY_TARGET <= HWY_AVX3
    (void)shifted;
    return Float{_mm512_scalef_ps(p.raw, n.raw)};
#    else
    (void)n;
    // 2^n may be subnormal: it is multiplied in two steps, of which the first is exact.
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    const auto whole = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, hn::Set(d, 0x1.8p23f)));
    const auto half = hn::ShiftRight<1>(whole);
    const auto pow2 = [&](auto k) {
        return hn::BitCast(d, hn::Add(hn::ShiftLeft<23>(k), hn::Set(di, 0x3f800000)));
    };
    return hn::Mul(hn::Mul(p, pow2(half)), pow2(hn::Sub(whole, half)));
#    endif
}

// e^x for x <= 0; NaN stays NaN.
HWY_INLINE Float exp_of_nonpositive(Float x) {
    const FloatTag d;
    const auto c = [&](float value) { return hn::Set(d, value); };
    // Adding 1.5 * 2^23 rounds to an integer. ln 2 is subtracted in two parts, the first without rounding.
    const Float magic = c(0x1.8p23f), bounded = hn::Max(x, c(-104.0f));
    const Float shifted = hn::MulAdd(bounded, c(0x1.715476p0f), magic);
    const Float n = hn::Sub(shifted, magic);
    const Float r = hn::NegMulAdd(n, c(-0x1.bd0106p-13f), hn::NegMulAdd(n, c(0x1.63p-1f), bounded));
    // e^r = 1 + r + r^2 * (polynomial)
    Float p = hn::MulAdd(r, c(0x1.6bebf4p-10f), c(0x1.1227b0p-7f));
    p = hn::MulAdd(p, r, c(0x1.555674p-5f));
    p = hn::MulAdd(p, r, c(0x1.5554b0p-3f));
    p = hn::MulAdd(p, r, c(0x1.fffffep-2f));
    p = hn::MulAdd(hn::Mul(r, r), p, r);
    return hn::IfThenElse(hn::IsNaN(x), x, times_pow2(hn::Add(p, c(1.0f)), n, shifted));
}

struct Silu {
    HWY_INLINE Float operator()(Float x) const {
        const FloatTag d;
        const Float e = exp_of_nonpositive(hn::Neg(hn::Abs(x)));
        const Float numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, e), x);
        return hn::Div(numerator, hn::Add(hn::Set(d, 1.0f), e));
    }
};

struct Sigmoid {
    HWY_INLINE Float operator()(Float x) const {
        const FloatTag d;
        const Float one = hn::Set(d, 1.0f), e = exp_of_nonpositive(hn::Neg(hn::Abs(x)));
        return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
    }
};

} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
