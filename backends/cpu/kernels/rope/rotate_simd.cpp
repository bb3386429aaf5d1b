#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/rope/rotate_simd.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "backends/cpu/isa/vector_rows-inl.h"
#include "backends/cpu/kernels/rope/rotate.h"

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::HWY_NAMESPACE {
namespace {

bool all_reducible(const double * theta, int64_t n) {
    bool all = true;
    for (int64_t i = 0; i < n; ++i)
        all = all && std::fabs(theta[i]) <= math::kMaxReducedAngle; // false for NaN
    return all;
}

// One vector of angles; `high` is where the second half of the lanes starts.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void sin_cos_lanes(D d, const double * theta, V & sine, V & cosine) {
    const DoubleTag<D> dd;
    const size_t half = HWY_TARGET == HWY_SCALAR ? 0 : hn::Lanes(dd);
    vsin_cos_small(d, hn::LoadU(dd, theta), hn::LoadU(dd, theta + half), sine, cosine);
}

void sin_cos_row(const double * theta, float magnitude, float * c, float * s, int64_t n) {
    if (!all_reducible(theta, n)) {
        for (int64_t i = 0; i < n; ++i) {
            c[i] = float(std::cos(theta[i])) * magnitude;
            s[i] = float(std::sin(theta[i])) * magnitude;
        }
        return;
    }
    const FloatTag d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    const auto factor = hn::Set(d, magnitude);
    hn::Vec<FloatTag> sine, cosine;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        sin_cos_lanes(d, theta + i, sine, cosine);
        hn::StoreU(hn::Mul(cosine, factor), d, c + i);
        hn::StoreU(hn::Mul(sine, factor), d, s + i);
    }
    if (i < n) {
        double part[kMaxLanes] = {};
        std::memcpy(part, theta + i, size_t(n - i) * sizeof(double));
        sin_cos_lanes(d, part, sine, cosine);
        store_part(d, hn::Mul(cosine, factor), c + i, n - i);
        store_part(d, hn::Mul(sine, factor), s + i, n - i);
    }
}

template <class V>
HWY_INLINE void rotate(V x0, V x1, V c, V s, V & y0, V & y1) {
    y0 = hn::Sub(hn::Mul(x0, c), hn::Mul(x1, s));
    y1 = hn::Add(hn::Mul(x0, s), hn::Mul(x1, c));
}

void rotate_halves(const float * x, int64_t gap, const float * c, const float * s, float * y, int64_t n) {
    const FloatTag d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    hn::Vec<FloatTag> y0, y1;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        rotate(hn::LoadU(d, x + i), hn::LoadU(d, x + gap + i), hn::LoadU(d, c + i), hn::LoadU(d, s + i), y0,
               y1);
        hn::StoreU(y0, d, y + i);
        hn::StoreU(y1, d, y + gap + i);
    }
    if (i < n) {
        const int64_t k = n - i;
        rotate(load_part(d, x + i, k), load_part(d, x + gap + i, k), load_part(d, c + i, k),
               load_part(d, s + i, k), y0, y1);
        store_part(d, y0, y + i, k);
        store_part(d, y1, y + gap + i, k);
    }
}

void rotate_neighbours(const float * x, const float * c, const float * s, float * y, int64_t n) {
    const FloatTag d;
    const int64_t lanes = int64_t(hn::Lanes(d));
    hn::Vec<FloatTag> x0, x1, y0, y1;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        hn::LoadInterleaved2(d, x + 2 * i, x0, x1);
        rotate(x0, x1, hn::LoadU(d, c + i), hn::LoadU(d, s + i), y0, y1);
        hn::StoreInterleaved2(y0, y1, d, y + 2 * i);
    }
    for (; i < n; ++i) {
        const float a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = a * c[i] - b * s[i];
        y[2 * i + 1] = a * s[i] + b * c[i];
    }
}

} // namespace
} // namespace ggml::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ggml::cpu {

HWY_EXPORT(sin_cos_row);
HWY_EXPORT(rotate_halves);
HWY_EXPORT(rotate_neighbours);

void sin_cos_row(const double * theta, float magnitude, float * c, float * s, int64_t n) {
    HWY_DYNAMIC_DISPATCH(sin_cos_row)(theta, magnitude, c, s, n);
}
void rotate_halves(const float * x, int64_t gap, const float * c, const float * s, float * y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(rotate_halves)(x, gap, c, s, y, n);
}
void rotate_neighbours(const float * x, const float * c, const float * s, float * y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(rotate_neighbours)(x, c, s, y, n);
}

} // namespace ggml::cpu
#endif
