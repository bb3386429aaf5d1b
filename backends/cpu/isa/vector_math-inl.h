// Elementary functions on vectors of float, for any Highway target. Each states its largest error in ulp of
// the float result, measured over a dense sample of all floats on every x86 target and a coarse one on NEON
// (tests/backends/cpu/kernels/unary/vector_math_test.cpp repeats it, coarser). Lanes are independent: a value
// gives the same bits in any lane and any vector length of a target. Infinities, NaN, zeros, subnormal
// arguments and results are handled; nothing depends on the rounding of the argument's neighbours, nothing
// touches the floating-point environment.
//
// Include after hwy/highway.h in a per-target file (see simd_targets.h); d is a float tag of that target.
#if defined(GGML_CPU_ISA_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#    ifdef GGML_CPU_ISA_VECTOR_MATH_INL_H_
#        undef GGML_CPU_ISA_VECTOR_MATH_INL_H_
#    else
#        define GGML_CPU_ISA_VECTOR_MATH_INL_H_
#    endif

#    include "hwy/highway.h"

#    include <cmath>

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

namespace math {

// Adding 1.5 * 2^23 rounds to an integer (nearest even) and leaves it in the low mantissa bits.
constexpr float kRoundMagic = 0x1.8p23f;
constexpr float kLog2E = 0x1.715476p0f;
// ln 2 in two parts: the high one has 9 bits, so that n * kLn2High is exact for |n| < 2^15 without fma.
constexpr float kLn2High = 0x1.63p-1f;
constexpr float kLn2Low = -0x1.bd0106p-13f;
// Past these arguments exp is infinity or rounds to zero; clamping keeps the exponent arithmetic in range.
constexpr float kExpMax = 89.0f;
constexpr float kExpMin = -104.0f;

// (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/2: minimax relative to expm1(r), error 2^-26.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V expm1_tail(D d, V r) {
    V p = hn::MulAdd(r, hn::Set(d, 0x1.6bebf4p-10f), hn::Set(d, 0x1.1227b0p-7f));
    p = hn::MulAdd(p, r, hn::Set(d, 0x1.555674p-5f));
    p = hn::MulAdd(p, r, hn::Set(d, 0x1.5554b0p-3f));
    return hn::MulAdd(p, r, hn::Set(d, 0x1.fffffep-2f));
}

// x = n ln 2 + r with |r| <= ln(2)/2 and a hair. `shifted` keeps n in its low bits.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V reduce_ln2(D d, V x, V & n, V & shifted) {
    const V magic = hn::Set(d, kRoundMagic);
    shifted = hn::MulAdd(x, hn::Set(d, kLog2E), magic);
    n = hn::Sub(shifted, magic);
    const V r = hn::NegMulAdd(n, hn::Set(d, kLn2High), x);
    return hn::NegMulAdd(n, hn::Set(d, kLn2Low), r);
}

// 2^n from reduce_ln2's `shifted`, -126 <= n <= 127: the shift drops all bits of the magic constant.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V small_pow2(D d, V shifted) {
    const hn::RebindToSigned<D> di;
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
    return hn::BitCast(d, hn::Add(exponent, hn::Set(di, 0x3f800000)));
}

// y * 2^n for -150 <= n <= 128 and 0.5 < y < 2, rounded once: the first of two multiplications is exact.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V scale_pow2(D d, V y, V /*n*/, V shifted) {
    const hn::RebindToSigned<D> di;
    const auto n = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, hn::Set(d, kRoundMagic)));
    const auto half = hn::ShiftRight<1>(n);
    const auto one = hn::Set(di, 0x3f800000);
    const V a = hn::BitCast(d, hn::Add(hn::ShiftLeft<23>(half), one));
    const V b = hn::BitCast(d, hn::Add(hn::ShiftLeft<23>(hn::Sub(n, half)), one));
    return hn::Mul(hn::Mul(y, a), b);
}
#    if HWY_TARGET <= HWY_AVX3
HWY_INLINE hn::Vec512<float> scale_pow2(hn::Full512<float>, hn::Vec512<float> y, hn::Vec512<float> n,
                                        hn::Vec512<float> /*shifted*/) {
    return hn::Vec512<float>{_mm512_scalef_ps(y.raw, n.raw)};
}
#    endif

// log(1 + f) + e ln 2 for 1 + f in [sqrt(1/2), sqrt(2)] and integral e. Small terms are summed first.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_core(D d, V f, V e) {
    // (log(1 + f) - f + f^2/2) / f^3: minimax relative to log(1 + f), error 2^-27.
    V p = hn::MulAdd(f, hn::Set(d, -0x1.392e84p-4f), hn::Set(d, 0x1.05b73ap-3f));
    p = hn::MulAdd(p, f, hn::Set(d, -0x1.0d9a50p-3f));
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.22cf52p-3f));
    p = hn::MulAdd(p, f, hn::Set(d, -0x1.546f28p-3f));
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.99a060p-3f));
    p = hn::MulAdd(p, f, hn::Set(d, -0x1.000232p-2f));
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.555554p-2f));
    const V f2 = hn::Mul(f, f);
    V t = hn::Mul(hn::Mul(p, f), f2);
    t = hn::MulAdd(e, hn::Set(d, kLn2Low), t);
    t = hn::NegMulAdd(hn::Set(d, 0.5f), f2, t);
    return hn::MulAdd(e, hn::Set(d, kLn2High), hn::Add(f, t));
}

} // namespace math

// e^x, error < 1.1 ulp.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V vexp(D d, V x) {
    const V bounded = hn::Min(hn::Max(x, hn::Set(d, math::kExpMin)), hn::Set(d, math::kExpMax));
    V n, shifted;
    const V r = math::reduce_ln2(d, bounded, n, shifted);
    const V p = hn::MulAdd(hn::Mul(r, r), math::expm1_tail(d, r), r);
    const V y = math::scale_pow2(d, hn::Add(p, hn::Set(d, 1.0f)), n, shifted);
    return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// e^x for x <= 0 (or NaN), error as vexp; results below the smallest normal float (x < -87.33) are exactly 0.
// Cheaper than vexp where exponents are taken relative to a maximum and tiny weights do not matter.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V vexp_nonpositive(D d, V x) {
    const V lowest = hn::Set(d, -0x1.5d589ep6f); // log(2^-126), rounded towards zero
    V n, shifted;
    const V r = math::reduce_ln2(d, hn::Max(x, lowest), n, shifted);
    const V p = hn::MulAdd(hn::Mul(r, r), math::expm1_tail(d, r), r);
    const V scale = math::small_pow2(d, shifted);
    const V y = hn::MulAdd(p, scale, scale);
    // NaN compares false here and is kept by the inner select.
    return hn::IfThenElse(hn::Ge(x, lowest), y, hn::IfThenElse(hn::IsNaN(x), x, hn::Zero(d)));
}

// e^x - 1, error < 2 ulp, also near 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V vexpm1(D d, V x) {
    // Below -17.4 the result rounds to -1; above 88.8 it is infinity.
    const V bounded = hn::Min(hn::Max(x, hn::Set(d, -20.0f)), hn::Set(d, math::kExpMax));
    V n, shifted;
    const V r = math::reduce_ln2(d, bounded, n, shifted);
    const V p = hn::MulAdd(hn::Mul(r, r), math::expm1_tail(d, r), r);
    // 2 * (2^(n-1) p + (2^(n-1) - 1/2)): half the scale because 2^128 is not a float.
    const V half = math::small_pow2(d, hn::Sub(shifted, hn::Set(d, 1.0f)));
    const V y = hn::MulAdd(p, half, hn::Sub(half, hn::Set(d, 0.5f)));
    const V doubled = hn::Add(y, y);
    return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::Eq(n, hn::Zero(d)), p, doubled));
}

// Natural logarithm, error < 1 ulp. log(0) = -inf, log(x < 0) = NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V vlog(D d, V x) {
    const hn::RebindToSigned<D> di;
    const V zero = hn::Zero(d);
    // Subnormal arguments are scaled into the normal range first.
    const auto tiny = hn::Lt(x, hn::Set(d, 0x1p-126f));
    const V scaled = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 0x1p25f)), x);
    const auto bits = hn::BitCast(di, scaled);
    const auto e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3))); // bits of sqrt(1/2)
    const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e)));
    const V exponent = hn::Sub(hn::ConvertTo(d, e), hn::IfThenElseZero(tiny, hn::Set(d, 25.0f)));
    V y = math::log_core(d, hn::Sub(m, hn::Set(d, 1.0f)), exponent);
    const V infinity = hn::Set(d, HUGE_VALF);
    y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
    y = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, NAN), y);
    return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Eq(x, infinity)), x, y);
}

// log(1 + y) for 0 <= y <= 1 (or NaN), error < 1.5 ulp: 1 + y is never rounded.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V vlog1p_unit(D d, V y) {
    const V one = hn::Set(d, 1.0f);
    const auto upper = hn::Gt(y, hn::Set(d, 0x1.a8279ap-2f)); // sqrt(2) - 1
    const V f = hn::IfThenElse(upper, hn::Mul(hn::Sub(y, one), hn::Set(d, 0.5f)), y);
    return math::log_core(d, f, hn::IfThenElseZero(upper, one));
}

// Hyperbolic tangent, error < 3 ulp; odd, keeps the sign of zero.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V vtanh(D d, V x) {
    const V magnitude = hn::Abs(x);
    const V t = vexpm1(d, hn::Mul(magnitude, hn::Set(d, -2.0f))); // in [-1, 0]: no overflow, no cancellation
    const V y = hn::Div(hn::Neg(t), hn::Add(t, hn::Set(d, 2.0f)));
    return hn::CopySign(y, x);
}

// 1 / (1 + e^-x), error < 2.5 ulp; results may be subnormal for x < -87.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V vsigmoid(D d, V x) {
    const V one = hn::Set(d, 1.0f);
    const V e = vexp(d, hn::Neg(hn::Abs(x)));
    return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one), hn::Add(one, e));
}

// Error function, error < 1.5 ulp; odd.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V verf(D d, V x) {
    const V a = hn::Min(hn::Abs(x), hn::Set(d, 3.95f)); // erf(3.95) rounds to 1
    // |x| < 1: erf(x) / x - 1 as a polynomial in x^2, error 2^-34.
    const V z = hn::Mul(a, a);
    V p = hn::MulAdd(z, hn::Set(d, -0x1.4383fap-17f), hn::Set(d, 0x1.d8268cp-14f));
    p = hn::MulAdd(p, z, hn::Set(d, -0x1.bcbe9ap-11f));
    p = hn::MulAdd(p, z, hn::Set(d, 0x1.5628eep-8f));
    p = hn::MulAdd(p, z, hn::Set(d, -0x1.b829a8p-6f));
    p = hn::MulAdd(p, z, hn::Set(d, 0x1.ce2f08p-4f));
    p = hn::MulAdd(p, z, hn::Set(d, -0x1.812746p-2f));
    p = hn::MulAdd(p, z, hn::Set(d, 0x1.06eba8p-3f));
    const V near = hn::MulAdd(a, p, a);
    // Otherwise 1 - exp(-g(|x|)), g = -log(erfc) on [1, 3.95], error 2^-34.
    V g = hn::MulAdd(a, hn::Set(d, 0x1.67cc2ep-16f), hn::Set(d, -0x1.cbd51ap-12f));
    g = hn::MulAdd(g, a, hn::Set(d, 0x1.12a6ecp-8f));
    g = hn::MulAdd(g, a, hn::Set(d, -0x1.9c6a3cp-6f));
    g = hn::MulAdd(g, a, hn::Set(d, 0x1.bbd954p-4f));
    g = hn::MulAdd(g, a, hn::Set(d, 0x1.443c48p-1f));
    g = hn::MulAdd(g, a, hn::Set(d, 0x1.212a52p+0f));
    g = hn::MulAdd(g, a, hn::Set(d, -0x1.7ea5dap-13f));
    const V far = hn::Sub(hn::Set(d, 1.0f), vexp_nonpositive(d, hn::Neg(g)));
    const V y = hn::CopySign(hn::IfThenElse(hn::Lt(a, hn::Set(d, 1.0f)), near, far), x);
    return hn::IfThenElse(hn::IsNaN(x), x, y);
}

namespace math {

// Arguments up to here are reduced exactly enough below; larger ones go through the C library, lane by lane.
constexpr double kMaxReducedAngle = 1.0e6;

// theta = n pi/2 + r. pi/2 in two parts, the first with 33 bits: n * first is exact for |n| < 2^20.
template <class DD, class VD = hn::Vec<DD>>
HWY_INLINE VD reduce_half_pi(DD dd, VD theta, VD & n) {
    const VD magic = hn::Set(dd, 0x1.8p52);
    n = hn::Sub(hn::MulAdd(theta, hn::Set(dd, 0x1.45f306dc9c883p-1), magic), magic);
    const VD r = hn::NegMulAdd(n, hn::Set(dd, 0x1.921fb544p0), theta);
    return hn::NegMulAdd(n, hn::Set(dd, 0x1.0b4611a626331p-34), r);
}

// sin and cos of q pi/2 + r, |r| <= pi/4 and a hair.
template <class D, class V = hn::Vec<D>, class VI>
HWY_INLINE void sin_cos_reduced(D d, V r, VI q, V & sine, V & cosine) {
    const hn::RebindToSigned<D> di;
    const V z = hn::Mul(r, r);
    V s = hn::MulAdd(z, hn::Set(d, 0x1.6cd1b0p-19f), hn::Set(d, -0x1.a00f7ep-13f));
    s = hn::MulAdd(s, z, hn::Set(d, 0x1.111108p-7f));
    s = hn::MulAdd(s, z, hn::Set(d, -0x1.555556p-3f));
    s = hn::MulAdd(hn::Mul(s, z), r, r);
    V c = hn::MulAdd(z, hn::Set(d, 0x1.99eb48p-16f), hn::Set(d, -0x1.6c0c32p-10f));
    c = hn::MulAdd(c, z, hn::Set(d, 0x1.55554ap-5f));
    c = hn::MulAdd(c, hn::Mul(z, z), hn::NegMulAdd(hn::Set(d, 0.5f), z, hn::Set(d, 1.0f)));
    const auto odd = hn::MaskFromVec(hn::BitCast(d, hn::Sub(hn::Zero(di), hn::And(q, hn::Set(di, 1)))));
    // Bit 1 of q (sine) and of q + 1 (cosine) moved to the sign.
    const V sine_sign = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(q, hn::Set(di, 2))));
    const V cosine_sign =
        hn::BitCast(d, hn::ShiftLeft<30>(hn::And(hn::Add(q, hn::Set(di, 1)), hn::Set(di, 2))));
    sine = hn::Xor(hn::IfThenElse(odd, c, s), sine_sign);
    cosine = hn::Xor(hn::IfThenElse(odd, s, c), cosine_sign);
}

} // namespace math

// A vector of doubles with half as many lanes; the one-lane target has no halves and uses the low one only.
#    if HWY_TARGET == HWY_SCALAR
template <class D>
using DoubleTag = hn::Rebind<double, D>;
#    else
template <class D>
using DoubleTag = hn::Repartition<double, D>;
#    endif

// The float vector of two vectors of doubles, and back (exact).
template <class D, class VD, class V = hn::Vec<D>>
HWY_INLINE V demote_pair(D d, VD low, VD high) {
#    if HWY_TARGET == HWY_SCALAR
    (void)high;
    return hn::DemoteTo(d, low);
#    else
    const hn::Half<D> dh;
    return hn::Combine(d, hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
#    endif
}
template <class D, class V, class VD = hn::Vec<DoubleTag<D>>>
HWY_INLINE void promote_pair(D d, V x, VD & low, VD & high) {
    const DoubleTag<D> dd;
#    if HWY_TARGET == HWY_SCALAR
    (void)d;
    low = high = hn::PromoteTo(dd, x);
#    else
    const hn::Half<D> dh;
    low = hn::PromoteTo(dd, hn::LowerHalf(dh, x));
    high = hn::PromoteTo(dd, hn::UpperHalf(dh, x));
    (void)d;
#    endif
}

// sin and cos of angles given as doubles (low and high half of the float vector), error < 1.6 ulp of the
// float result. For |theta| <= math::kMaxReducedAngle; the caller checks.
template <class D, class V = hn::Vec<D>, class VD>
HWY_INLINE void vsin_cos_small(D d, VD theta_low, VD theta_high, V & sine, V & cosine) {
    const DoubleTag<D> dd;
    const hn::RebindToSigned<D> di;
    VD n_low, n_high;
    const VD r_low = math::reduce_half_pi(dd, theta_low, n_low);
    const VD r_high = math::reduce_half_pi(dd, theta_high, n_high);
    const V n = demote_pair(d, n_low, n_high);
    math::sin_cos_reduced(d, demote_pair(d, r_low, r_high), hn::ConvertTo(di, n), sine, cosine);
}

// sin and cos of x, error < 1.6 ulp for every float; infinities give NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void vsin_cos(D d, V x, V & sine, V & cosine) {
    if (HWY_LIKELY(hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, float(math::kMaxReducedAngle)))))) {
        hn::Vec<DoubleTag<D>> low, high;
        promote_pair(d, x, low, high);
        vsin_cos_small(d, low, high, sine, cosine);
        return;
    }
    HWY_ALIGN float in[HWY_MAX_BYTES / sizeof(float)], s[HWY_MAX_BYTES / sizeof(float)],
        c[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(x, d, in);
    for (size_t i = 0; i < hn::Lanes(d); ++i) {
        s[i] = float(std::sin(double(in[i])));
        c[i] = float(std::cos(double(in[i])));
    }
    sine = hn::Load(d, s);
    cosine = hn::Load(d, c);
}

} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
