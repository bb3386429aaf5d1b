// Elementwise functions, once per instruction set. Where the scalar definition has no transcendental function
// the bits are the same; elsewhere the error is that of vector_math-inl.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/unary/unary_simd.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "backends/cpu/isa/activations-inl.h"
#include "backends/cpu/isa/vector_rows-inl.h"
#include "backends/cpu/kernels/unary/function.h"

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {
namespace {

// A function object for one expression in d and x.
#define GGML_UNARY_FUNCTOR(name, expression)                                                                 \
    struct name {                                                                                            \
        template <class D, class V>                                                                          \
        HWY_INLINE V operator()(D d, V x) const {                                                            \
            (void)d;                                                                                         \
            return expression;                                                                               \
        }                                                                                                    \
    };

template <class D, class V = hn::Vec<D>>
HWY_INLINE V hard_gate(D d, V x) {
    const V t = hn::Div(hn::Add(x, hn::Set(d, 3.0f)), hn::Set(d, 6.0f));
    const V low = hn::IfThenElseZero(hn::Gt(t, hn::Zero(d)), t);
    const V one = hn::Set(d, 1.0f);
    return hn::IfThenElse(hn::Lt(low, one), low, one);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sign(D d, V x) {
    const V zero = hn::Zero(d), one = hn::Set(d, 1.0f);
    return hn::Sub(hn::IfThenElseZero(hn::Gt(x, zero), one), hn::IfThenElseZero(hn::Lt(x, zero), one));
}

// max(x, 0) + log(1 + e^-|x|): no overflow, no cancellation. Max may drop a NaN.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V softplus(D d, V x) {
    const V tail = vlog1p_unit(d, vexp(d, hn::Neg(hn::Abs(x))));
    const V y = hn::Add(hn::Max(x, hn::Zero(d)), tail);
    return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// Nearest integer, halves away from zero: x - trunc(x) is exact.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V round_away(D d, V x) {
    const V t = hn::Trunc(x);
    const auto up = hn::Ge(hn::Abs(hn::Sub(x, t)), hn::Set(d, 0.5f));
    const V step = hn::IfThenElseZero(up, hn::CopySign(hn::Set(d, 1.0f), x));
    return hn::CopySign(hn::Add(t, step), x);
}

GGML_UNARY_FUNCTOR(Abs, hn::Abs(x))
GGML_UNARY_FUNCTOR(Sign, sign(d, x))
GGML_UNARY_FUNCTOR(Negate, hn::Neg(x))
GGML_UNARY_FUNCTOR(Step, hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1.0f)))
GGML_UNARY_FUNCTOR(Tanh, vtanh(d, x))
GGML_UNARY_FUNCTOR(Elu, hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, vexpm1(d, x)))
GGML_UNARY_FUNCTOR(Sigmoid, vsigmoid(d, x))
GGML_UNARY_FUNCTOR(HardSwish, hn::Mul(x, hard_gate(d, x)))
GGML_UNARY_FUNCTOR(HardSigmoid, hard_gate(d, x))
GGML_UNARY_FUNCTOR(Exp, vexp(d, x))
GGML_UNARY_FUNCTOR(Expm1, vexpm1(d, x))
GGML_UNARY_FUNCTOR(Softplus, softplus(d, x))
GGML_UNARY_FUNCTOR(Floor, hn::Floor(x))
GGML_UNARY_FUNCTOR(Ceil, hn::Ceil(x))
GGML_UNARY_FUNCTOR(RoundAway, round_away(d, x))
GGML_UNARY_FUNCTOR(Truncate, hn::Trunc(x))
GGML_UNARY_FUNCTOR(Square, hn::Mul(x, x))
GGML_UNARY_FUNCTOR(SquareRoot, hn::Sqrt(x))
GGML_UNARY_FUNCTOR(Log, vlog(d, x))
#undef GGML_UNARY_FUNCTOR

struct Sine {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        V sine, cosine;
        vsin_cos(d, x, sine, cosine);
        return sine;
    }
};

struct Cosine {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        V sine, cosine;
        vsin_cos(d, x, sine, cosine);
        return cosine;
    }
};

struct Xielu {
    float alpha_n, alpha_p, beta, eps;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        const V limit = hn::Set(d, eps);
        const V linear = hn::Mul(hn::Set(d, beta), x);
        const V positive = hn::Add(hn::Mul(hn::Mul(hn::Set(d, alpha_p), x), x), linear);
        const V bounded = hn::IfThenElse(hn::Lt(x, limit), x, limit);
        const V bent = hn::Mul(hn::Sub(vexpm1(d, bounded), x), hn::Set(d, alpha_n));
        return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), positive, hn::Add(bent, linear));
    }
};

struct LeakyRelu {
    float slope;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(hn::Set(d, slope), x));
    }
};

struct Clamp {
    float low, high;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        const V min = hn::Set(d, low), max = hn::Set(d, high);
        const V capped = hn::IfThenElse(hn::Lt(x, max), x, max);
        return hn::IfThenElse(hn::Gt(capped, min), capped, min);
    }
};

struct Scale {
    float factor;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return hn::Mul(x, hn::Set(d, factor));
    }
};

// Two roundings on purpose: multiplication, then addition.
struct ScaleBias {
    float factor, bias;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return hn::Add(hn::Mul(x, hn::Set(d, factor)), hn::Set(d, bias));
    }
};

void unary_op_row(ggml_unary_op op, const float * p, const float * x, float * y, int64_t n) {
    switch (op) {
    case GGML_UNARY_OP_ABS: return map_row(x, y, n, Abs());
    case GGML_UNARY_OP_SGN: return map_row(x, y, n, Sign());
    case GGML_UNARY_OP_NEG: return map_row(x, y, n, Negate());
    case GGML_UNARY_OP_STEP: return map_row(x, y, n, Step());
    case GGML_UNARY_OP_TANH: return map_row(x, y, n, Tanh());
    case GGML_UNARY_OP_ELU: return map_row(x, y, n, Elu());
    case GGML_UNARY_OP_RELU: return map_row(x, y, n, Relu());
    case GGML_UNARY_OP_SIGMOID: return map_row(x, y, n, Sigmoid());
    case GGML_UNARY_OP_GELU: return map_row(x, y, n, Gelu());
    case GGML_UNARY_OP_GELU_QUICK: return map_row(x, y, n, Silu{kGeluQuickSlope});
    case GGML_UNARY_OP_SILU: return map_row(x, y, n, Silu());
    case GGML_UNARY_OP_HARDSWISH: return map_row(x, y, n, HardSwish());
    case GGML_UNARY_OP_HARDSIGMOID: return map_row(x, y, n, HardSigmoid());
    case GGML_UNARY_OP_EXP: return map_row(x, y, n, Exp());
    case GGML_UNARY_OP_EXPM1: return map_row(x, y, n, Expm1());
    case GGML_UNARY_OP_SOFTPLUS: return map_row(x, y, n, Softplus());
    case GGML_UNARY_OP_GELU_ERF: return map_row(x, y, n, GeluErf());
    case GGML_UNARY_OP_XIELU: return map_row(x, y, n, Xielu{p[0], p[1], p[2], p[3]});
    case GGML_UNARY_OP_FLOOR: return map_row(x, y, n, Floor());
    case GGML_UNARY_OP_CEIL: return map_row(x, y, n, Ceil());
    case GGML_UNARY_OP_ROUND: return map_row(x, y, n, RoundAway());
    case GGML_UNARY_OP_TRUNC: return map_row(x, y, n, Truncate());
    case GGML_UNARY_OP_COUNT: break;
    }
}

void unary_row(const UnaryFunction & f, const float * x, float * y, int64_t n) {
    switch (f.op) {
    case GGML_OP_SQR: return map_row(x, y, n, Square());
    case GGML_OP_SQRT: return map_row(x, y, n, SquareRoot());
    case GGML_OP_LOG: return map_row(x, y, n, Log());
    case GGML_OP_SIN: return map_row(x, y, n, Sine());
    case GGML_OP_COS: return map_row(x, y, n, Cosine());
    case GGML_OP_LEAKY_RELU: return map_row(x, y, n, LeakyRelu{f.p[0]});
    case GGML_OP_CLAMP: return map_row(x, y, n, Clamp{f.p[0], f.p[1]});
    case GGML_OP_SCALE:
        return f.p[1] == 0.0f ? map_row(x, y, n, Scale{f.p[0]}) : map_row(x, y, n, ScaleBias{f.p[0], f.p[1]});
    default: return unary_op_row(f.unary, f.p, x, y, n);
    }
}

} // namespace
} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ggml::cpu {

HWY_EXPORT(unary_row);

void unary_row(const UnaryFunction & f, const float * x, float * y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(unary_row)(f, x, y, n);
}

} // namespace ggml::cpu
#endif
