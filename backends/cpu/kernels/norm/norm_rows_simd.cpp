#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/norm/norm_rows_simd.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "backends/cpu/isa/vector_rows-inl.h"
#include "backends/cpu/kernels/norm/norm_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {
namespace {

// Feeds the row to add(sum, v); `fill` is what the missing lanes of the last vector hold, chosen to
// contribute 0.
template <class Add>
HWY_INLINE double reduce_row(const float * x, int64_t n, float fill, const Add & add) {
    const FloatTag d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    DoubleSum sum;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) add(d, sum, hn::LoadU(d, x + i));
    if (i < n) add(d, sum, load_part(d, x + i, n - i, fill));
    return sum.total();
}

struct AddValue {
    template <class D, class V>
    HWY_INLINE void operator()(D, DoubleSum & sum, V x) const {
        sum.add(x);
    }
};
struct AddSquare {
    template <class D, class V>
    HWY_INLINE void operator()(D, DoubleSum & sum, V x) const {
        sum.add_square(x);
    }
};
struct AddCenteredSquare {
    float mean;
    template <class D, class V>
    HWY_INLINE void operator()(D d, DoubleSum & sum, V x) const {
        sum.add_square(hn::Sub(x, hn::Set(d, mean)));
    }
};
struct ScaleBy {
    float scale;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return hn::Mul(x, hn::Set(d, scale));
    }
};
struct CenterScale {
    float mean, scale;
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return hn::Mul(hn::Sub(x, hn::Set(d, mean)), hn::Set(d, scale));
    }
};

double sum_row(const float * x, int64_t n) { return reduce_row(x, n, 0.0f, AddValue()); }
double sum_squares_row(const float * x, int64_t n) { return reduce_row(x, n, 0.0f, AddSquare()); }
double sum_centered_squares_row(const float * x, float mean, int64_t n) {
    return reduce_row(x, n, mean, AddCenteredSquare{mean});
}
void scale_row(const float * x, float scale, float * y, int64_t n) { map_row(x, y, n, ScaleBy{scale}); }
void center_scale_row(const float * x, float mean, float scale, float * y, int64_t n) {
    map_row(x, y, n, CenterScale{mean, scale});
}

} // namespace
} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ggml::cpu {

HWY_EXPORT(sum_row);
HWY_EXPORT(sum_squares_row);
HWY_EXPORT(sum_centered_squares_row);
HWY_EXPORT(scale_row);
HWY_EXPORT(center_scale_row);

double sum_row(const float * x, int64_t n) { return HWY_DYNAMIC_DISPATCH(sum_row)(x, n); }
double sum_squares_row(const float * x, int64_t n) { return HWY_DYNAMIC_DISPATCH(sum_squares_row)(x, n); }
double sum_centered_squares_row(const float * x, float mean, int64_t n) {
    return HWY_DYNAMIC_DISPATCH(sum_centered_squares_row)(x, mean, n);
}
void scale_row(const float * x, float scale, float * y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(scale_row)(x, scale, y, n);
}
void center_scale_row(const float * x, float mean, float scale, float * y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(center_scale_row)(x, mean, scale, y, n);
}

} // namespace ggml::cpu
#endif
