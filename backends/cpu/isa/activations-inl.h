// Activation functions on vectors of float, shared by the unary and the gated operators. Built on
// vector_math-inl.h; each is a function object f(d, x). The scalar definitions are in
// kernels/unary/activations.h.
#if defined(GGML_CPU_ISA_ACTIVATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#    ifdef GGML_CPU_ISA_ACTIVATIONS_INL_H_
#        undef GGML_CPU_ISA_ACTIVATIONS_INL_H_
#    else
#        define GGML_CPU_ISA_ACTIVATIONS_INL_H_
#    endif

#    include "backends/cpu/isa/vector_math-inl.h"
#    include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {

// x / (1 + e^-slope x), error < 4 ulp for slope 1. With e = exp(-|slope x|) nothing overflows on either side.
struct Silu {
    float slope = 1.0f;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        const V t = hn::Mul(x, hn::Set(d, slope));
        const V e = vexp(d, hn::Neg(hn::Abs(t)));
        const V numerator = hn::IfThenElse(hn::Lt(t, hn::Zero(d)), hn::Mul(x, e), x);
        return hn::Div(numerator, hn::Add(hn::Set(d, 1.0f), e));
    }
};

// The tanh form written as x * sigmoid(2u), which is the same function and loses nothing for negative x.
// Error below 2^-22 |x|.
struct Gelu {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        const V inner = hn::MulAdd(hn::Mul(hn::Set(d, 0.044715f), x), x, hn::Set(d, 1.0f));
        const V u = hn::Mul(hn::Mul(hn::Set(d, 0.79788456080286535588f), x), inner);
        return hn::Mul(x, vsigmoid(d, hn::Add(u, u)));
    }
};

// x / 2 * (1 + erf(x / sqrt 2)), error below 2^-22 |x|.
struct GeluErf {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        const V e = verf(d, hn::Mul(x, hn::Set(d, 0.70710678118654752440f)));
        return hn::Mul(hn::Mul(hn::Set(d, 0.5f), x), hn::Add(hn::Set(d, 1.0f), e));
    }
};

inline constexpr float kGeluQuickSlope = 1.702f;

// Not Max(x, 0): NaN gives 0 as the scalar comparison does, on every target.
struct Relu {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), x);
    }
};

} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
