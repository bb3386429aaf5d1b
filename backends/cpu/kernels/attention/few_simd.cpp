#include "backends/cpu/kernels/attention/few.h"

#include "backends/cpu/convert.h"
#include "runtime/base/half.h"

#include <cmath>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/attention/few_simd.cpp"
#include "backends/cpu/isa/simd_targets.h"
#include "hwy/foreach_target.h"

#include "backends/cpu/isa/vector_math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::attention::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FewTag = hn::ScalableTag<float>;
using FewV = hn::Vec<FewTag>;
constexpr int kFewLanes = int(hn::MaxLanes(FewTag()));
// Queries a register tile: 4 keys times this many accumulators.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int kTogether = 4;
#else
constexpr int kTogether = 2;
#endif
constexpr int kKeys = 4;

// The element types of K and V: how a vector, and how one element, is read as float.
struct F32Rows {
    using Element = float;
    static HWY_INLINE FewV load(const float * p) { return hn::LoadU(FewTag(), p); }
    static float one(float x) { return x; }
};
struct F16Rows {
    using Element = uint16_t;
    static HWY_INLINE FewV load(const uint16_t * p) {
#if HWY_TARGET == HWY_SCALAR
        // Highway's own scalar conversion takes infinity and NaN for numbers.
        return hn::Set(FewTag(), half_to_float(*p));
#else
        const hn::Rebind<hwy::float16_t, FewTag> half;
        return hn::PromoteTo(FewTag(), hn::LoadU(half, reinterpret_cast<const hwy::float16_t *>(p)));
#endif
    }
    static float one(uint16_t x) { return half_to_float(x); }
};
struct Bf16Rows {
    using Element = uint16_t;
    static HWY_INLINE FewV load(const uint16_t * p) {
        const hn::Rebind<uint16_t, FewTag> narrow;
        const hn::Repartition<uint32_t, FewTag> wide;
        return hn::BitCast(FewTag(), hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, p))));
    }
    static float one(uint16_t x) { return bf16_to_float(x); }
};

template <class Rows>
const typename Rows::Element * row(const char * data, size_t stride, int64_t i) {
    return reinterpret_cast<const typename Rows::Element *>(data + size_t(i) * stride);
}

#if HWY_TARGET != HWY_SCALAR
// Adds up a vector down to four lanes.
template <class D>
HWY_INLINE hn::Vec<hn::FixedTag<float, 4>> sum_to_four([[maybe_unused]] D d, hn::Vec<D> v) {
    if constexpr (hn::MaxLanes(D()) == 4) {
        return v;
    } else {
        const hn::Half<D> half;
        return sum_to_four(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
}
#endif

// out[j] = sum of the lanes of v[j].
template <int NK>
HWY_INLINE void store_sums(const FewV (&v)[NK], float * out) {
    const FewTag tag;
#if HWY_TARGET != HWY_SCALAR
    if constexpr (NK == 4) {
        const hn::FixedTag<float, 4> four;
        const auto a = sum_to_four(tag, v[0]), b = sum_to_four(tag, v[1]);
        const auto c = sum_to_four(tag, v[2]), d = sum_to_four(tag, v[3]);
        const auto ab = hn::Add(hn::InterleaveLower(four, a, b), hn::InterleaveUpper(four, a, b));
        const auto cd = hn::Add(hn::InterleaveLower(four, c, d), hn::InterleaveUpper(four, c, d));
        hn::StoreU(hn::Add(hn::ConcatLowerLower(four, cd, ab), hn::ConcatUpperUpper(four, cd, ab)), four,
                   out);
        return;
    }
#endif
    for (int j = 0; j < NK; ++j) out[j] = hn::GetLane(hn::SumOfLanes(tag, v[j]));
}

// scores[q][j] = queries[q] . K[keys[j]] for NQ queries and NK keys.
template <class Rows, int NQ, int NK>
HWY_NOINLINE void dots(const Params & p, const Query * queries, const KeyChunk & c, const int32_t * keys,
                       float * scores, int64_t stride) {
    const FewTag tag;
    const typename Rows::Element * k[NK];
    for (int j = 0; j < NK; ++j) k[j] = row<Rows>(c.k, c.k_stride, keys[j]);
    FewV acc[NQ][NK];
#pragma GCC unroll 8
    for (int q = 0; q < NQ; ++q) {
#pragma GCC unroll 8
        for (int j = 0; j < NK; ++j) acc[q][j] = hn::Zero(tag);
    }
    const int64_t whole = p.d / kFewLanes * kFewLanes;
    if constexpr (NQ <= 2) {
        // Memory is the limit: one row after the other, which the processor's prefetching understands.
#pragma GCC unroll 8
        for (int j = 0; j < NK; ++j) {
            for (int64_t e = 0; e < whole; e += kFewLanes) {
                const FewV y = Rows::load(k[j] + e);
#pragma GCC unroll 8
                for (int q = 0; q < NQ; ++q)
                    acc[q][j] = hn::MulAdd(hn::LoadU(tag, queries[q].q + e), y, acc[q][j]);
            }
        }
    } else {
        // Loads are the limit: each is used for several products.
        for (int64_t e = 0; e < whole; e += kFewLanes) {
            FewV x[NQ];
#pragma GCC unroll 8
            for (int q = 0; q < NQ; ++q) x[q] = hn::LoadU(tag, queries[q].q + e);
#pragma GCC unroll 8
            for (int j = 0; j < NK; ++j) {
                const FewV y = Rows::load(k[j] + e);
#pragma GCC unroll 8
                for (int q = 0; q < NQ; ++q) acc[q][j] = hn::MulAdd(x[q], y, acc[q][j]);
            }
        }
    }
#pragma GCC unroll 8
    for (int q = 0; q < NQ; ++q) store_sums<NK>(acc[q], scores + q * stride);
    for (int64_t e = whole; e < p.d; ++e) {
        for (int q = 0; q < NQ; ++q) {
            for (int j = 0; j < NK; ++j) scores[q * stride + j] += queries[q].q[e] * Rows::one(k[j][e]);
        }
    }
}

template <class Rows, int NQ>
void score_keys(const Params & p, const Query * queries, const KeyChunk & c, const int32_t * keys, int64_t n,
                float * scores, int64_t stride) {
    int64_t j = 0;
    for (; j + kKeys <= n; j += kKeys) dots<Rows, NQ, kKeys>(p, queries, c, keys + j, scores + j, stride);
    for (; j < n; ++j) dots<Rows, NQ, 1>(p, queries, c, keys + j, scores + j, stride);
}

// out[q][e .. e + NV vectors) = sum over j of weights[q][j] * V[keys[j]].
template <class Rows, int NQ, int NV>
HWY_NOINLINE void sum_values(const Params & p, const KeyChunk & c, const int32_t * keys, int64_t n,
                             const float * weights, int64_t stride, int64_t e, float * out) {
    const FewTag tag;
    FewV acc[NQ][NV];
#pragma GCC unroll 8
    for (int q = 0; q < NQ; ++q) {
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) acc[q][v] = hn::Zero(tag);
    }
    for (int64_t j = 0; j < n; ++j) {
        const auto * value = row<Rows>(c.v, c.v_stride, keys[j]) + e;
        FewV w[NQ];
#pragma GCC unroll 8
        for (int q = 0; q < NQ; ++q) w[q] = hn::Set(tag, weights[q * stride + j]);
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) {
            const FewV y = Rows::load(value + v * kFewLanes);
#pragma GCC unroll 8
            for (int q = 0; q < NQ; ++q) acc[q][v] = hn::MulAdd(w[q], y, acc[q][v]);
        }
    }
#pragma GCC unroll 8
    for (int q = 0; q < NQ; ++q) {
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) hn::StoreU(acc[q][v], tag, out + q * p.dv + e + v * kFewLanes);
    }
}

template <class Rows, int NQ>
void weigh_values(const Params & p, const KeyChunk & c, const int32_t * keys, int64_t n,
                  const float * weights, int64_t stride, float * out) {
    int64_t e = 0;
    const auto strips = [&](auto vectors) {
        constexpr int NV = decltype(vectors)::value;
        for (; e + NV * kFewLanes <= p.dv; e += NV * kFewLanes)
            sum_values<Rows, NQ, NV>(p, c, keys, n, weights, stride, e, out);
    };
    if constexpr (NQ <= 2 && kTogether == 4) strips(std::integral_constant<int, 8>());
    strips(std::integral_constant<int, 4>());
    strips(std::integral_constant<int, 2>());
    strips(std::integral_constant<int, 1>());
    for (; e < p.dv; ++e) {
        for (int q = 0; q < NQ; ++q) {
            float sum = 0;
            for (int64_t j = 0; j < n; ++j)
                sum += weights[q * stride + j] * Rows::one(row<Rows>(c.v, c.v_stride, keys[j])[e]);
            out[q * p.dv + e] = sum;
        }
    }
}

// Adds slope * mask; what is hidden becomes -inf, even from NaN.
void add_bias(const Query & query, const KeyChunk & c, const int32_t * keys, int64_t n, float * scores) {
    const FewTag tag;
    constexpr int64_t kBlock = 64;
    const FewV minus_infinity = hn::Set(tag, -HUGE_VALF), slope = hn::Set(tag, query.slope);
    uint16_t halves[kBlock] = {};
    HWY_ALIGN float bias[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
        const int64_t count = n - begin < kBlock ? n - begin : kBlock;
        for (int64_t i = 0; i < count; ++i) halves[i] = query.mask[c.first + keys[begin + i]];
        half_to_float_row(halves, bias, kBlock);
        // Past the last key there is room up to a whole vector.
        for (int64_t i = 0; i < count; i += kFewLanes) {
            const FewV x = hn::LoadU(tag, scores + begin + i), b = hn::Mul(hn::Load(tag, bias + i), slope);
            hn::StoreU(hn::IfThenElse(hn::Eq(b, minus_infinity), b, hn::Add(x, b)), tag, scores + begin + i);
        }
    }
}

// Scores of one query become weights relative to their maximum.
void soften_row(const Params & p, const Query & query, const KeyChunk & c, const int32_t * keys, int64_t n,
                float * scores, float & max_out, float & sum_out) {
    const FewTag tag;
    const int64_t padded = (n + kFewLanes - 1) / kFewLanes * kFewLanes;
    const FewV scale = hn::Set(tag, p.scale), cap = hn::Set(tag, p.softcap);
    for (int64_t j = 0; j < padded; j += kFewLanes) {
        FewV x = hn::Mul(hn::LoadU(tag, scores + j), scale);
        if (p.softcap != 0.0f) x = hn::Mul(cpu::HWY_NAMESPACE::vtanh(tag, x), cap);
        hn::StoreU(x, tag, scores + j);
    }
    if (query.mask != nullptr) add_bias(query, c, keys, n, scores);
    for (int64_t j = n; j < padded; ++j) scores[j] = -HUGE_VALF;

    FewV max = hn::Set(tag, -HUGE_VALF);
    for (int64_t j = 0; j < padded; j += kFewLanes) {
        const FewV x = hn::LoadU(tag, scores + j);
        max = hn::IfThenElse(hn::Gt(x, max), x, max);
    }
    max_out = hn::GetLane(hn::MaxOfLanes(tag, max));
    const FewV base = hn::Set(tag, max_out == -HUGE_VALF ? 0.0f : max_out);
    FewV sum = hn::Zero(tag);
    for (int64_t j = 0; j < padded; j += kFewLanes) {
        const FewV weight =
            cpu::HWY_NAMESPACE::vexp_nonpositive(tag, hn::Sub(hn::LoadU(tag, scores + j), base));
        hn::StoreU(weight, tag, scores + j);
        sum = hn::Add(sum, weight);
    }
    sum_out = hn::GetLane(hn::SumOfLanes(tag, sum));
}

// Keys that at least one query sees. The others are never read.
int64_t list_keys(const Query * queries, int n_queries, const KeyChunk & c, int32_t * keys) {
    constexpr uint16_t kMinusInfinity = 0xfc00;
    int64_t n = 0;
    for (int64_t j = 0; j < c.count; ++j) {
        bool seen = queries[0].mask == nullptr;
        for (int q = 0; q < n_queries && !seen; ++q) seen = queries[q].mask[c.first + j] != kMinusInfinity;
        keys[n] = int32_t(j);
        n += seen;
    }
    return n;
}

template <class Rows, int NQ>
void weigh_group(const Params & p, const KeyChunk & c, const int32_t * keys, int64_t n, const FewScratch & s,
                 const Partial & result, int first) {
    weigh_values<Rows, NQ>(p, c, keys, n, s.scores + first * score_stride(c.count), score_stride(c.count),
                           result.out + first * p.dv);
}

// Calls fn(first query, how many as a constant) for groups of queries that share a register tile.
template <class Fn>
void for_groups(int n, Fn && fn) {
    int q = 0;
    for (; q + kTogether <= n; q += kTogether) fn(q, std::integral_constant<int, kTogether>());
    for (; q + 2 <= n; q += 2) fn(q, std::integral_constant<int, 2>());
    for (; q < n; ++q) fn(q, std::integral_constant<int, 1>());
}

template <class Fn>
void with_rows(RowType type, Fn && fn) {
    if (type == RowType::f32)
        fn(F32Rows());
    else if (type == RowType::f16)
        fn(F16Rows());
    else
        fn(Bf16Rows());
}

// The weight 0 of a hidden key times an infinity or NaN in V is NaN: sums that are not finite are done again
// without the keys their query does not see.
void repair(const Params & p, const Query * queries, int n_queries, const KeyChunk & c, int64_t n,
            const FewScratch & s, const Partial & result) {
    for (int q = 0; q < n_queries; ++q) {
        const float * weights = s.scores + q * score_stride(c.count);
        for (int64_t e = 0; e < p.dv; ++e) {
            float & out = result.out[q * p.dv + e];
            if (std::isfinite(out)) continue;
            out = 0;
            with_rows(c.v_type, [&](auto rows) {
                using Rows = decltype(rows);
                for (int64_t j = 0; j < n; ++j) {
                    if (half_to_float(queries[q].mask[c.first + s.keys[j]]) == -HUGE_VALF) continue;
                    out += weights[j] * Rows::one(row<Rows>(c.v, c.v_stride, s.keys[j])[e]);
                }
            });
        }
    }
}

void chunk(const Params & p, const Query * queries, int n_queries, const KeyChunk & c, const FewScratch & s,
           const Partial & result) {
    const int64_t n = list_keys(queries, n_queries, c, s.keys), stride = score_stride(c.count);
    with_rows(c.k_type, [&](auto rows) {
        for_groups(n_queries, [&](int q, auto count) {
            score_keys<decltype(rows), decltype(count)::value>(p, queries + q, c, s.keys, n,
                                                               s.scores + q * stride, stride);
        });
    });
    for (int q = 0; q < n_queries; ++q) {
        soften_row(p, queries[q], c, s.keys, n, s.scores + q * stride, result.max[q], result.sum[q]);
    }
    with_rows(c.v_type, [&](auto rows) {
        for_groups(n_queries, [&](int q, auto count) {
            weigh_group<decltype(rows), decltype(count)::value>(p, c, s.keys, n, s, result, q);
        });
    });
    if (p.has_mask && n_queries > 1) repair(p, queries, n_queries, c, n, s, result);
}

} // namespace ggml::cpu::attention::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ggml::cpu::attention {
HWY_EXPORT(chunk);

void few_chunk(const Params & p, const Query * queries, int n, const KeyChunk & c, const FewScratch & scratch,
               const Partial & result) {
    HWY_DYNAMIC_DISPATCH(chunk)(p, queries, n, c, scratch, result);
}

void merge_partials(const Params & p, const Query & query, int index, const Partials & partials,
                    int64_t first, int64_t count) {
    float max = -HUGE_VALF;
    for (int64_t i = first; i < first + count; ++i) {
        max = partials[i].max[index] > max ? partials[i].max[index] : max;
    }
    float sum = 0;
    for (int64_t e = 0; e < p.dv; ++e) query.out[e] = 0;
    for (int64_t i = first; i < first + count; ++i) {
        const Partial part = partials[i];
        // A chunk without visible keys has maximum -inf and sum 0; one with NaN keeps its NaN sum.
        const float weight = part.max[index] == -HUGE_VALF ? 1.0f : std::exp(part.max[index] - max);
        sum += weight * part.sum[index];
        const float * out = part.out + index * p.dv;
        for (int64_t e = 0; e < p.dv; ++e) query.out[e] += weight * out[e];
    }
    const SinkFactors f = apply_sink(p.has_sinks ? query.sink : -HUGE_VALF, max, sum);
    const float factor = f.sum == 0.0f ? 0.0f : f.shrink / f.sum;
    for (int64_t e = 0; e < p.dv; ++e) query.out[e] *= factor;
}

} // namespace ggml::cpu::attention
#endif
