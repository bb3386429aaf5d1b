#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/binary/arithmetic_simd.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "backends/cpu/isa/vector_rows-inl.h"
#include "backends/cpu/kernels/binary/arithmetic.h"

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {
namespace {

#define GGML_BINARY_FUNCTOR(name, function)                                                                  \
    struct name {                                                                                            \
        template <class D, class V>                                                                          \
        HWY_INLINE V operator()(D, V a, V b) const {                                                         \
            return hn::function(a, b);                                                                       \
        }                                                                                                    \
    };
GGML_BINARY_FUNCTOR(AddOp, Add)
GGML_BINARY_FUNCTOR(SubOp, Sub)
GGML_BINARY_FUNCTOR(MulOp, Mul)
GGML_BINARY_FUNCTOR(DivOp, Div)
#undef GGML_BINARY_FUNCTOR

template <class Op>
struct WithScalar {
    float b;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V a) const {
        return Op()(d, a, hn::Set(d, b));
    }
};

void arithmetic_row(Arithmetic op, const float * a, const float * b, float * y, int64_t n) {
    switch (op) {
    case Arithmetic::add: return map_rows(a, b, y, n, AddOp());
    case Arithmetic::sub: return map_rows(a, b, y, n, SubOp());
    case Arithmetic::mul: return map_rows(a, b, y, n, MulOp());
    case Arithmetic::div: return map_rows(a, b, y, n, DivOp());
    }
}

void arithmetic_row_scalar(Arithmetic op, const float * a, float b, float * y, int64_t n) {
    switch (op) {
    case Arithmetic::add: return map_row(a, y, n, WithScalar<AddOp>{b});
    case Arithmetic::sub: return map_row(a, y, n, WithScalar<SubOp>{b});
    case Arithmetic::mul: return map_row(a, y, n, WithScalar<MulOp>{b});
    case Arithmetic::div: return map_row(a, y, n, WithScalar<DivOp>{b});
    }
}

} // namespace
} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ggml::cpu {

HWY_EXPORT(arithmetic_row);
HWY_EXPORT(arithmetic_row_scalar);

void arithmetic_row(Arithmetic op, const float * a, const float * b, float * y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(arithmetic_row)(op, a, b, y, n);
}
void arithmetic_row_scalar(Arithmetic op, const float * a, float b, float * y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(arithmetic_row_scalar)(op, a, b, y, n);
}

} // namespace ggml::cpu
#endif
