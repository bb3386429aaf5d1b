#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gated_residual/rows_simd.cpp"
#include "ops/common/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/common/float_vector-inl.h"
#include "ops/gated_residual/rule.h"

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {
namespace {

// Not MulAdd: the product is rounded.
HWY_INLINE Float gated(Float x, Float y, Float gate) { return hn::Add(x, hn::Mul(y, gate)); }

// A gate of a model's width does not stay in the first-level cache beside the rows, so each part of it is
// loaded once for several rows.
template <int kRows, bool kScalarGate>
HWY_INLINE void loop(const GatedRows & g, int64_t row) {
    const FloatTag d;
    const float *x = g.x + row * g.x_row, *y = g.y + row * g.y_row;
    float * out = g.out + row * g.out_row;
    const int64_t lanes = float_lanes();
    Float gate = hn::Set(d, *g.gate);
    int64_t i = 0;
    for (; i + lanes <= g.n; i += lanes) {
        if (!kScalarGate) gate = hn::LoadU(d, g.gate + i);
        for (int r = 0; r < kRows; ++r) {
            const Float v = gated(hn::LoadU(d, x + r * g.x_row + i), hn::LoadU(d, y + r * g.y_row + i), gate);
            hn::StoreU(v, d, out + r * g.out_row + i);
        }
    }
    if (i == g.n) return;
    const int64_t rest = g.n - i;
    if (!kScalarGate) gate = load_part(g.gate + i, rest);
    for (int r = 0; r < kRows; ++r) {
        const Float v =
            gated(load_part(x + r * g.x_row + i, rest), load_part(y + r * g.y_row + i, rest), gate);
        store_part(v, out + r * g.out_row + i, rest);
    }
}

template <bool kScalarGate>
HWY_INLINE void loops(const GatedRows & g) {
    if (g.rows == GatedRows::kMax) return loop<GatedRows::kMax, kScalarGate>(g, 0);
    for (int row = 0; row < g.rows; ++row) loop<1, kScalarGate>(g, row);
}

void gated_rows(const GatedRows & g) {
    if (g.gate_step == 0) {
        loops<true>(g);
    } else {
        loops<false>(g);
    }
}

} // namespace
} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sd {

HWY_EXPORT(gated_rows);

void gated_rows_simd(const GatedRows & rows) { HWY_DYNAMIC_DISPATCH(gated_rows)(rows); }

} // namespace sd
#endif
