#include "backends/cpu/kernels/attention/tile.h"

#include "backends/cpu/convert.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/attention/tile_simd.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"

#include "backends/cpu/isa/transpose-inl.h"
#include "backends/cpu/isa/vector_math-inl.h"
#include "backends/cpu/kernels/attention/tile_mul-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::attention::HWY_NAMESPACE {

void fill(float * dst, float value, int64_t n) {
    for (int64_t i = 0; i < n; ++i) dst[i] = value;
}

int vectors(const Tile & tile) { return (tile.n + kLanes - 1) / kLanes; }

// Lanes without a query repeat the last one: finite whenever that is, and never written out.
const Query & query(const Tile & tile, int i) { return tile.queries[i < tile.n ? i : tile.n - 1]; }

void begin(const Params & p, const Tile & tile) {
    const Tag tag;
    for (int i = 0; i < vectors(tile) * kLanes; i += 4) {
        const float * const rows[4] = {query(tile, i).q, query(tile, i + 1).q, query(tile, i + 2).q,
                                       query(tile, i + 3).q};
        cpu::HWY_NAMESPACE::transpose_4_rows(rows, p.d, tile.q + i, kTileQueries);
    }
    const V scale = hn::Set(tag, p.scale);
    for (int64_t e = 0; e < p.d; ++e) {
        for (int v = 0; v < vectors(tile); ++v) {
            float * at = tile.q + e * kTileQueries + v * kLanes;
            hn::Store(hn::Mul(hn::Load(tag, at), scale), tag, at);
        }
    }
    fill(tile.out, 0.0f, p.dv * kTileQueries);
    fill(tile.max, -HUGE_VALF, kTileQueries);
    fill(tile.sum, 0.0f, kTileQueries);
}

// bias[j][i] = slope * mask of query i and key first + j, as floats. `rows` holds the untransposed values.
void load_bias(const Tile & tile, int64_t first, int64_t count, float * rows, float * bias) {
    for (int i = 0; i < vectors(tile) * kLanes; i += 4) {
        const float * sources[4];
        for (int r = 0; r < 4; ++r) {
            const Query & q = query(tile, i + r);
            float * row = rows + r * count;
            half_to_float_row(q.mask + first, row, count);
            if (q.slope != 1.0f) {
                for (int64_t j = 0; j < count; ++j) row[j] *= q.slope;
            }
            sources[r] = row;
        }
        cpu::HWY_NAMESPACE::transpose_4_rows(sources, count, bias + i, kTileQueries);
    }
}

// Scores become weights exp(score - max); updates max and sum of each query and gives the factor by which
// everything summed before shrinks.
template <bool kSoftcap, bool kBias>
HWY_NOINLINE void soften(const Params & p, const Tile & tile, int64_t count, const TileScratch & s,
                         float * shrink) {
    const Tag tag;
    const V minus_infinity = hn::Set(tag, -HUGE_VALF);
    for (int v = 0; v < vectors(tile); ++v) {
        float * scores = s.scores + v * kLanes;
        const float * bias = s.bias + v * kLanes;
        const V old_max = hn::Load(tag, tile.max + v * kLanes);
        V max = old_max;
        for (int64_t j = 0; j < count; ++j) {
            V x = hn::Load(tag, scores + j * kTileQueries);
            if constexpr (kSoftcap) x = hn::Mul(cpu::HWY_NAMESPACE::vtanh(tag, x), hn::Set(tag, p.softcap));
            if constexpr (kBias) {
                // A hidden key may hold anything, also NaN.
                const V b = hn::Load(tag, bias + j * kTileQueries);
                x = hn::IfThenElse(hn::Eq(b, minus_infinity), b, hn::Add(x, b));
            }
            if constexpr (kSoftcap || kBias) hn::Store(x, tag, scores + j * kTileQueries);
            max = hn::IfThenElse(hn::Gt(x, max), x, max);
        }
        // While a query has seen no key its maximum is -inf, and exp must see x - 0, not -inf - -inf.
        const V base = hn::IfThenElse(hn::Eq(max, minus_infinity), hn::Zero(tag), max);
        const V factor = cpu::HWY_NAMESPACE::vexp_nonpositive(tag, hn::Sub(old_max, base));
        V sum = hn::Mul(hn::Load(tag, tile.sum + v * kLanes), factor);
        for (int64_t j = 0; j < count; ++j) {
            float * at = scores + j * kTileQueries;
            const V weight = cpu::HWY_NAMESPACE::vexp_nonpositive(tag, hn::Sub(hn::Load(tag, at), base));
            hn::Store(weight, tag, at);
            sum = hn::Add(sum, weight);
        }
        hn::Store(max, tag, tile.max + v * kLanes);
        hn::Store(sum, tag, tile.sum + v * kLanes);
        hn::Store(factor, tag, shrink + v * kLanes);
    }
}

// out = out * shrink + V^T weights, leaving out hidden keys: their weight 0 times an infinity or NaN in V
// would be NaN. Only for panels that hold such values.
void add_visible_values(const Params & p, const Tile & tile, const float * v, int64_t v_stride, int64_t count,
                        const TileScratch & s, const float * shrink) {
    for (int64_t e = 0; e < p.dv; ++e) {
        for (int i = 0; i < tile.n; ++i) {
            float sum = tile.out[e * kTileQueries + i] * shrink[i];
            for (int64_t j = 0; j < count; ++j) {
                if (s.bias[j * kTileQueries + i] == -HUGE_VALF) continue;
                sum += s.scores[j * kTileQueries + i] * v[j * v_stride + e];
            }
            tile.out[e * kTileQueries + i] = sum;
        }
    }
}

void step(const Params & p, const Tile & tile, const Panel & panel, const TileScratch & s) {
    const Visible seen = visible_keys(tile, panel);
    const int64_t count = seen.end - seen.begin;
    if (count == 0) return;
    if (seen.biased) load_bias(tile, panel.first + seen.begin, count, s.scores, s.bias);

    const float * k = panel.k + seen.begin * panel.k_stride;
    const float * v = panel.v + seen.begin * panel.v_stride;
    mul<true>(k, panel.k_stride, count, tile.q, p.d, vectors(tile), nullptr, s.scores);

    HWY_ALIGN float shrink[kTileQueries];
    if (p.softcap != 0.0f) {
        (seen.biased ? soften<true, true> : soften<true, false>)(p, tile, count, s, shrink);
    } else {
        (seen.biased ? soften<false, true> : soften<false, false>)(p, tile, count, s, shrink);
    }
    if (seen.biased && !panel.finite) {
        add_visible_values(p, tile, v, panel.v_stride, count, s, shrink);
    } else {
        mul<false>(v, panel.v_stride, p.dv, s.scores, count, vectors(tile), shrink, tile.out);
    }
}

void finish(const Params & p, const Tile & tile) {
    const Tag tag;
    HWY_ALIGN float factor[kTileQueries];
    for (int i = 0; i < kTileQueries; ++i) {
        const float sink = p.has_sinks ? query(tile, i).sink : -HUGE_VALF;
        const SinkFactors f = apply_sink(sink, tile.max[i], tile.sum[i]);
        factor[i] = f.sum == 0.0f ? 0.0f : f.shrink / f.sum;
    }
    for (int64_t e = 0; e < p.dv; ++e) {
        for (int v = 0; v < vectors(tile); ++v) {
            float * at = tile.out + e * kTileQueries + v * kLanes;
            hn::Store(hn::Mul(hn::Load(tag, at), hn::Load(tag, factor + v * kLanes)), tag, at);
        }
    }
    int64_t e = 0;
    for (; e + 4 <= p.dv; e += 4) {
        const float * row = tile.out + e * kTileQueries;
        const float * const rows[4] = {row, row + kTileQueries, row + 2 * kTileQueries,
                                       row + 3 * kTileQueries};
        HWY_ALIGN float block[kTileQueries * 4];
        cpu::HWY_NAMESPACE::transpose_4_rows(rows, kTileQueries, block, 4);
        for (int i = 0; i < tile.n; ++i) {
            for (int r = 0; r < 4; ++r) tile.queries[i].out[e + r] = block[i * 4 + r];
        }
    }
    for (; e < p.dv; ++e) {
        for (int i = 0; i < tile.n; ++i) tile.queries[i].out[e] = tile.out[e * kTileQueries + i];
    }
}

} // namespace ggml::cpu::attention::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ggml::cpu::attention {
HWY_EXPORT(begin);
HWY_EXPORT(step);
HWY_EXPORT(finish);

void tile_begin(const Params & p, const Tile & tile) { HWY_DYNAMIC_DISPATCH(begin)(p, tile); }
void tile_step(const Params & p, const Tile & tile, const Panel & panel, const TileScratch & scratch) {
    HWY_DYNAMIC_DISPATCH(step)(p, tile, panel, scratch);
}
void tile_finish(const Params & p, const Tile & tile) { HWY_DYNAMIC_DISPATCH(finish)(p, tile); }
} // namespace ggml::cpu::attention
#endif
