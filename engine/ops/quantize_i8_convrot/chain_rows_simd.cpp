#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quantize_i8_convrot/chain_rows_simd.cpp"
#include "ops/common/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/common/activations-inl.h"
#include "ops/common/float_vector-inl.h"
#include "ops/common/rms_norm-inl.h"
#include "ops/quantize_i8_convrot/chain_rows.h"

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {
namespace {

// The next n elements of a row: a whole vector, or what is left.
struct Piece {
    int64_t begin, n;
    HWY_INLINE Float load(const float * p) const {
        return n == float_lanes() ? hn::LoadU(FloatTag(), p + begin) : load_part(p + begin, n);
    }
    HWY_INLINE void store(Float v, float * p) const {
        if (n == float_lanes()) {
            hn::StoreU(v, FloatTag(), p + begin);
        } else {
            store_part(v, p + begin, n);
        }
    }
};

template <class Fn>
HWY_INLINE void for_pieces(int64_t n, const Fn & fn) {
    const int64_t lanes = float_lanes();
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) fn(Piece{i, lanes});
    if (i < n) fn(Piece{i, n - i});
}

// Never MulAdd: the products are rounded.
template <bool kWeight, bool kScale, bool kShift>
HWY_INLINE void scaled_row(const NormRow & row, Float factor) {
    for_pieces(row.n, [&](Piece piece) {
        Float v = hn::Mul(piece.load(row.x), factor);
        if (kWeight) v = hn::Mul(v, piece.load(row.weight));
        if (kScale) v = hn::Add(v, hn::Mul(v, piece.load(row.scale)));
        if (kShift) v = hn::Add(v, piece.load(row.shift));
        piece.store(v, row.y);
    });
}

template <bool kWeight>
HWY_INLINE void modulated_row(const NormRow & row, Float factor) {
    if (row.shift != nullptr) return scaled_row<kWeight, true, true>(row, factor);
    if (row.scale != nullptr) return scaled_row<kWeight, true, false>(row, factor);
    scaled_row<kWeight, false, false>(row, factor);
}

void norm_row(const NormRow & row) {
    const Float factor = hn::Set(FloatTag(), rms_norm_scale(row.x, row.n, row.eps));
    if (row.weight != nullptr) {
        modulated_row<true>(row, factor);
    } else {
        modulated_row<false>(row, factor);
    }
}

template <class Function>
HWY_INLINE void gate_row_by(const Function & f, const float * x, const float * g, float * y, int64_t n) {
    for_pieces(n, [&](Piece piece) { piece.store(hn::Mul(f(piece.load(x)), piece.load(g)), y); });
}

void gate_row(Activation activation, const float * x, const float * g, float * y, int64_t n) {
    switch (activation) {
    case Activation::silu: return gate_row_by(Silu(), x, g, y, n);
    case Activation::sigmoid: return gate_row_by(Sigmoid(), x, g, y, n);
    }
}

} // namespace
} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sd {

HWY_EXPORT(norm_row);
HWY_EXPORT(gate_row);

void norm_row_simd(const NormRow & row) { HWY_DYNAMIC_DISPATCH(norm_row)(row); }
void gate_row_simd(Activation activation, const float * x, const float * g, float * y, int64_t n) {
    HWY_DYNAMIC_DISPATCH(gate_row)(activation, x, g, y, n);
}

} // namespace sd
#endif
