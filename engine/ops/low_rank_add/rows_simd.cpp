#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/low_rank_add/rows_simd.cpp"
#include "ops/common/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/common/float_vector-inl.h"
#include "ops/low_rank_add/rule.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {
namespace {

constexpr int64_t kTile = LowRankRows::kTile;
constexpr int kRows = 6;
// Accumulators, a row of the panel and a broadcast: 29 of 32 registers with 512 bits, else 15 of 16.
constexpr int kVectors = HWY_MAX_BYTES >= 64 && hn::MaxLanes(FloatTag()) >= 16 ? 4 : 2;

// kVectors vectors of columns of some rows.
template <int kCount>
HWY_INLINE void block(const LowRankRows & g, const float * z, const float * panel, const float * base,
                      float * out) {
    const FloatTag d;
    const int64_t lanes = float_lanes();
    Float sum[kCount][kVectors];
    for (int r = 0; r < kCount; ++r)
        for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
    for (int64_t i = 0; i < g.rank; ++i, panel += kTile) {
        Float column[kVectors];
        for (int v = 0; v < kVectors; ++v) column[v] = hn::LoadU(d, panel + v * lanes);
        for (int r = 0; r < kCount; ++r) {
            const Float by = hn::Set(d, z[r * g.z_row + i]);
            for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(by, column[v], sum[r][v]);
        }
    }
    for (int r = 0; r < kCount; ++r) {
        for (int v = 0; v < kVectors; ++v) {
            const Float before = hn::LoadU(d, base + r * g.base_row + v * lanes);
            hn::StoreU(hn::Add(before, sum[r][v]), d, out + r * g.out_row + v * lanes);
        }
    }
}

template <int kCount>
HWY_INLINE void whole_tile(const LowRankRows & g, const float * z, const float * panel, const float * base,
                           float * out) {
    for (int64_t j = 0; j < kTile; j += kVectors * float_lanes())
        block<kCount>(g, z, panel + j, base + j, out + j);
}

// The last columns, by way of a whole tile of the stack.
template <int kCount>
HWY_INLINE void part_of_tile(const LowRankRows & g, const float * z, const float * panel, const float * base,
                             float * out, int64_t n) {
    float tile[kCount * kTile] = {};
    LowRankRows own = g;
    own.base_row = own.out_row = kTile;
    for (int r = 0; r < kCount; ++r) std::copy_n(base + r * g.base_row, n, tile + r * kTile);
    whole_tile<kCount>(own, z, panel, tile, tile);
    for (int r = 0; r < kCount; ++r) std::copy_n(tile + r * kTile, n, out + r * g.out_row);
}

template <int kCount>
HWY_INLINE void some_rows(const LowRankRows & g, int64_t row) {
    const float *z = g.z + row * g.z_row, *base = g.base + row * g.base_row, *panel = g.panel;
    float * out = g.out + row * g.out_row;
    int64_t j = 0;
    for (; j + kTile <= g.n; j += kTile, panel += kTile * g.rank)
        whole_tile<kCount>(g, z, panel, base + j, out + j);
    if (j < g.n) part_of_tile<kCount>(g, z, panel, base + j, out + j, g.n - j);
}

void low_rank_rows(const LowRankRows & g) {
    int64_t row = 0;
    for (; row + kRows <= g.rows; row += kRows) some_rows<kRows>(g, row);
    for (; row < g.rows; ++row) some_rows<1>(g, row);
}

} // namespace
} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sd {

HWY_EXPORT(low_rank_rows);

void low_rank_rows_simd(const LowRankRows & rows) { HWY_DYNAMIC_DISPATCH(low_rank_rows)(rows); }

} // namespace sd
#endif
