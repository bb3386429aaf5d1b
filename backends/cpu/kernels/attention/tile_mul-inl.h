// The two products of attention as one register tile: out[r][lane] = sum over t of a(r, t) * b[t][lane],
// where b and out have kTileQueries lanes a row. kDot: a's rows are `stride` apart (a = K, t runs along a
// row). Otherwise a's rows are its columns (a = V, t runs from row to row). Compiled once per Highway target.
#include "backends/cpu/kernels/attention/tile.h"
#include "hwy/highway.h"

#if defined(GGML_ATTENTION_TILE_MUL_INL) == defined(HWY_TARGET_TOGGLE)
#    ifdef GGML_ATTENTION_TILE_MUL_INL
#        undef GGML_ATTENTION_TILE_MUL_INL
#    else
#        define GGML_ATTENTION_TILE_MUL_INL
#    endif

HWY_BEFORE_NAMESPACE();
namespace ggml::cpu::attention::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kTileQueries / 2>;
using V = hn::Vec<Tag>;
inline constexpr int kLanes = int(hn::MaxLanes(Tag()));

// Rows and vectors a register tile: 2 * kTileRows accumulators, and two vectors of b, fit the register file.
#    if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kTileRows = 8;
#    elif HWY_TARGET == HWY_AVX2
inline constexpr int kTileRows = 6;
#    else
inline constexpr int kTileRows = 4;
#    endif

// rescale: null to start from 0, else one factor per lane for what `out` holds.
template <int R, int NV, bool kDot>
HWY_INLINE void tile_mul(const float * HWY_RESTRICT a, int64_t stride, const float * HWY_RESTRICT b,
                         int64_t depth, const float * rescale, float * HWY_RESTRICT out) {
    const Tag tag;
    V acc[R][NV];
#    pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#    pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) {
            float * at = out + r * kTileQueries + v * kLanes;
            acc[r][v] = rescale == nullptr ? hn::Zero(tag)
                                           : hn::Mul(hn::Load(tag, at), hn::Load(tag, rescale + v * kLanes));
        }
    }
    for (int64_t t = 0; t < depth; ++t) {
        V x[NV];
#    pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) x[v] = hn::Load(tag, b + v * kLanes);
        b += kTileQueries;
#    pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
            const V scalar = hn::Set(tag, kDot ? a[r * stride] : a[r]);
#    pragma GCC unroll 8
            for (int v = 0; v < NV; ++v) acc[r][v] = hn::MulAdd(scalar, x[v], acc[r][v]);
        }
        a += kDot ? 1 : stride;
    }
#    pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#    pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) hn::Store(acc[r][v], tag, out + r * kTileQueries + v * kLanes);
    }
}

// R rows, over all vectors that hold queries.
template <int R, bool kDot>
HWY_NOINLINE void rows_mul(const float * a, int64_t stride, const float * b, int64_t depth, int n_vectors,
                           const float * rescale, float * out) {
    int v = 0;
    for (; v + 2 <= n_vectors; v += 2) {
        tile_mul<R, 2, kDot>(a, stride, b + v * kLanes, depth, rescale ? rescale + v * kLanes : nullptr,
                             out + v * kLanes);
    }
    if (v < n_vectors) {
        tile_mul<R, 1, kDot>(a, stride, b + v * kLanes, depth, rescale ? rescale + v * kLanes : nullptr,
                             out + v * kLanes);
    }
}

#    if HWY_TARGET == HWY_SCALAR
// Without Highway vectors: a loop the compiler vectorizes for whatever the baseline is.
template <bool kDot>
void mul(const float * a, int64_t stride, int64_t rows, const float * b, int64_t depth, int /*n_vectors*/,
         const float * rescale, float * out) {
    for (int64_t r = 0; r < rows; ++r, out += kTileQueries) {
        float acc[kTileQueries];
        for (int i = 0; i < kTileQueries; ++i) acc[i] = rescale == nullptr ? 0.0f : out[i] * rescale[i];
        for (int64_t t = 0; t < depth; ++t) {
            const float scalar = kDot ? a[r * stride + t] : a[t * stride + r];
            for (int i = 0; i < kTileQueries; ++i) acc[i] += scalar * b[t * kTileQueries + i];
        }
        for (int i = 0; i < kTileQueries; ++i) out[i] = acc[i];
    }
}
#    else
template <bool kDot>
void mul(const float * a, int64_t stride, int64_t rows, const float * b, int64_t depth, int n_vectors,
         const float * rescale, float * out) {
    const int64_t step = kDot ? stride : 1;
    int64_t r = 0;
    const auto take = [&](auto rows_fn, int n) {
        for (; r + n <= rows; r += n) {
            rows_fn(a + r * step, stride, b, depth, n_vectors, rescale, out + r * kTileQueries);
        }
    };
    take(rows_mul<kTileRows, kDot>, kTileRows);
    take(rows_mul<3, kDot>, 3);
    take(rows_mul<1, kDot>, 1);
}
#    endif

} // namespace ggml::cpu::attention::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
