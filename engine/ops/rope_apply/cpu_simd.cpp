#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/rope_apply/cpu_simd.cpp"
#include "ops/common/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/common/float_vector-inl.h"
#include "ops/common/rms_norm-inl.h"
#include "ops/rope_apply/cpu.h"

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {
namespace {

// Sorts the matrices of one vector of pairs: m0 = (m[0][0]), m1 = (m[0][1]), m2 = (m[1][0]), m3 = (m[1][1]).
HWY_INLINE void store_rotations(Float m0, Float m1, Float m2, Float m3, int64_t i, const Rotations & r) {
    const FloatTag d;
    if (r.interleaved) {
        hn::StoreInterleaved2(m0, m3, d, r.own + 2 * i);
        hn::StoreInterleaved2(m1, m2, d, r.other + 2 * i);
        return;
    }
    hn::StoreU(m0, d, r.own + i);
    hn::StoreU(m3, d, r.own + r.pairs + i);
    hn::StoreU(m1, d, r.other + i);
    hn::StoreU(m2, d, r.other + r.pairs + i);
}

// A table without gaps.
void load_rotations(const RotationSource & s, const Rotations & r) {
    const int64_t lanes = float_lanes();
    int64_t i = 0;
    for (; i + lanes <= r.pairs; i += lanes) {
        Float m0, m1, m2, m3;
        hn::LoadInterleaved4(FloatTag(), s.pe + 4 * i, m0, m1, m2, m3);
        store_rotations(m0, m1, m2, m3, i, r);
    }
    load_some_rotations(s, r, i);
}

// Where rows come from: memory, or memory times a scale, rounded, times weights, rounded.
struct Plain {
    const float * x;
    HWY_INLINE Float whole(int64_t i) const { return hn::LoadU(FloatTag(), x + i); }
    HWY_INLINE Float part(int64_t i, int64_t n) const { return load_part(x + i, n); }
};
struct Normed {
    const float * x;
    const float * weight;
    Float scale;
    HWY_INLINE Float whole(int64_t i) const {
        const FloatTag d;
        return hn::Mul(hn::Mul(hn::LoadU(d, x + i), scale), hn::LoadU(d, weight + i));
    }
    HWY_INLINE Float part(int64_t i, int64_t n) const {
        return hn::Mul(hn::Mul(load_part(x + i, n), scale), load_part(weight + i, n));
    }
};

HWY_INLINE Float rotated(Float x, Float own, Float partner, Float other) {
    return hn::Add(hn::Mul(x, own), hn::Mul(partner, other)); // not MulAdd: both products are rounded
}

template <class Source>
HWY_INLINE void rotate_neighbours(const Source & x, float * y, const Rotations & r) {
    const FloatTag d;
    const int64_t n = 2 * r.pairs;
#if HWY_TARGET == HWY_SCALAR // vectors of one float have no neighbours
    for (int64_t i = 0; i < n; i += 2) {
        const Float a = x.whole(i), b = x.whole(i + 1);
        hn::StoreU(rotated(a, hn::LoadU(d, r.own + i), b, hn::LoadU(d, r.other + i)), d, y + i);
        hn::StoreU(rotated(b, hn::LoadU(d, r.own + i + 1), a, hn::LoadU(d, r.other + i + 1)), d, y + i + 1);
    }
#else
    const int64_t lanes = float_lanes();
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const Float v = x.whole(i), partner = hn::Reverse2(d, v);
        hn::StoreU(rotated(v, hn::LoadU(d, r.own + i), partner, hn::LoadU(d, r.other + i)), d, y + i);
    }
    if (i == n) return;
    const int64_t rest = n - i;
    const Float v = x.part(i, rest), partner = hn::Reverse2(d, v);
    store_part(rotated(v, load_part(r.own + i, rest), partner, load_part(r.other + i, rest)), y + i, rest);
#endif
}

template <class Source>
HWY_INLINE void rotate_halves(const Source & x, float * y, const Rotations & r) {
    const FloatTag d;
    const int64_t lanes = float_lanes(), n = r.pairs;
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const Float a = x.whole(i), b = x.whole(n + i);
        hn::StoreU(rotated(a, hn::LoadU(d, r.own + i), b, hn::LoadU(d, r.other + i)), d, y + i);
        hn::StoreU(rotated(b, hn::LoadU(d, r.own + n + i), a, hn::LoadU(d, r.other + n + i)), d, y + n + i);
    }
    if (i == n) return;
    const int64_t rest = n - i;
    const Float a = x.part(i, rest), b = x.part(n + i, rest);
    store_part(rotated(a, load_part(r.own + i, rest), b, load_part(r.other + i, rest)), y + i, rest);
    store_part(rotated(b, load_part(r.own + n + i, rest), a, load_part(r.other + n + i, rest)), y + n + i,
               rest);
}

template <class Source>
HWY_INLINE void rotate_row_of(const Source & x, float * y, int64_t n, const Rotations & r) {
    if (r.interleaved) {
        rotate_neighbours(x, y, r);
    } else {
        rotate_halves(x, y, r);
    }
    const int64_t lanes = float_lanes();
    int64_t i = 2 * r.pairs;
    for (; i + lanes <= n; i += lanes) hn::StoreU(x.whole(i), FloatTag(), y + i);
    if (i < n) store_part(x.part(i, n - i), y + i, n - i);
}

void rotate_row(const RopeRow & row, const Rotations & r) { rotate_row_of(Plain{row.x}, row.y, row.n, r); }

void norm_rotate_row(const RopeRow & row, const float * weight, float eps, const Rotations & r) {
    const float scale = rms_norm_scale(row.x, row.n, eps);
    rotate_row_of(Normed{row.x, weight, hn::Set(FloatTag(), scale)}, row.y, row.n, r);
}

} // namespace
} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sd {

HWY_EXPORT(load_rotations);
HWY_EXPORT(rotate_row);
HWY_EXPORT(norm_rotate_row);

void load_rotations_simd(const RotationSource & s, const Rotations & r) {
    if (s.column != 1 || s.row != 2 || (s.pair != 4 && r.pairs > 1)) return load_rotations_scalar(s, r);
    HWY_DYNAMIC_DISPATCH(load_rotations)(s, r);
}
void rotate_row_simd(const RopeRow & row, const Rotations & r) { HWY_DYNAMIC_DISPATCH(rotate_row)(row, r); }
void norm_rotate_row_simd(const RopeRow & row, const float * weight, float eps, const Rotations & r) {
    HWY_DYNAMIC_DISPATCH(norm_rotate_row)(row, weight, eps, r);
}

} // namespace sd
#endif
