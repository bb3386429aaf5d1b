#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/glu/gate_simd.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "backends/cpu/isa/activations-inl.h"
#include "backends/cpu/isa/vector_rows-inl.h"
#include "backends/cpu/kernels/glu/gate.h"

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {
namespace {

template <class Activation>
struct Gated {
    Activation activation;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x, V g) const {
        return hn::Mul(activation(d, x), g);
    }
};

// Not Relu() * g: where x <= 0 the result is 0 even if g is infinite or NaN.
struct ReGlu {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x, V g) const {
        return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), hn::Mul(x, g));
    }
};

struct SwiGluOai {
    float alpha, limit;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x, V g) const {
        const V top = hn::Set(d, limit), bottom = hn::Set(d, -limit);
        const V a = hn::IfThenElse(hn::Lt(top, x), top, x);
        const V low = hn::IfThenElse(hn::Lt(g, bottom), bottom, g);
        const V b = hn::IfThenElse(hn::Lt(top, low), top, low);
        return hn::Mul(Silu{alpha}(d, a), hn::Add(b, hn::Set(d, 1.0f)));
    }
};

void gate_row(const GluParams & p, const float * x, const float * g, float * y, int64_t n) {
    switch (ggml_glu_op(p.op)) {
    case GGML_GLU_OP_REGLU: return map_rows(x, g, y, n, ReGlu());
    case GGML_GLU_OP_GEGLU: return map_rows(x, g, y, n, Gated<Gelu>());
    case GGML_GLU_OP_SWIGLU: return map_rows(x, g, y, n, Gated<Silu>());
    case GGML_GLU_OP_SWIGLU_OAI: return map_rows(x, g, y, n, SwiGluOai{p.alpha, p.limit});
    case GGML_GLU_OP_GEGLU_ERF: return map_rows(x, g, y, n, Gated<GeluErf>());
    case GGML_GLU_OP_GEGLU_QUICK: return map_rows(x, g, y, n, Gated<Silu>{{kGeluQuickSlope}});
    case GGML_GLU_OP_COUNT: break;
    }
}

} // namespace
} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ggml::cpu {

HWY_EXPORT(gate_row);

void gate_row(const GluParams & p, const float * x, const float * g, float * y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(gate_row)(p, x, g, y, n);
}

} // namespace ggml::cpu
#endif
