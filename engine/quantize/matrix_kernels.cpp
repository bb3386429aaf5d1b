#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantize/matrix_kernels.cpp"
#include "ops/common/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/common/float_vector-inl.h"
#include "quantize/matrix_kernels.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {
namespace {

constexpr int kRows = 6, kColumns = 2; // of a tile; columns are registers

// `rows` of a tile at row i and column j.
template <int rows, int columns>
HWY_INLINE void tile(const Product & p, int64_t i, int64_t j) {
    const FloatTag d;
    const int64_t lanes = float_lanes();
    Float sum[rows][columns];
    for (int r = 0; r < rows; ++r) {
        for (int v = 0; v < columns; ++v) sum[r][v] = hn::Zero(d);
    }
    const float * a = p.a + i * p.row;
    const float * b = p.b + j;
    for (int64_t k = 0; k < p.depth; ++k, a += p.step, b += p.ldb) {
        Float line[columns];
        for (int v = 0; v < columns; ++v) line[v] = hn::LoadU(d, b + v * lanes);
        for (int r = 0; r < rows; ++r) {
            const Float one = hn::Set(d, a[r * p.row]);
            for (int v = 0; v < columns; ++v) sum[r][v] = hn::MulAdd(one, line[v], sum[r][v]);
        }
    }
    const Float sign = hn::Set(d, p.sign);
    for (int r = 0; r < rows; ++r) {
        for (int v = 0; v < columns; ++v) {
            float * const c = p.c + (i + r) * p.ldc + j + v * lanes;
            hn::StoreU(hn::Add(hn::LoadU(d, c), hn::Mul(sign, sum[r][v])), d, c);
        }
    }
}

template <int columns>
HWY_INLINE void column_of_tiles(const Product & p, int64_t j) {
    int64_t i = 0;
    for (; i + kRows <= p.m; i += kRows) tile<kRows, columns>(p, i, j);
    for (; i < p.m; ++i) tile<1, columns>(p, i, j);
}

void add_product(const Product & p) {
    const int64_t lanes = float_lanes();
    int64_t j = 0;
    for (; j + kColumns * lanes <= p.n; j += kColumns * lanes) column_of_tiles<kColumns>(p, j);
    for (; j + lanes <= p.n; j += lanes) column_of_tiles<1>(p, j);
    for (; j < p.n; ++j) {
        for (int64_t i = 0; i < p.m; ++i) {
            float sum = 0;
            for (int64_t k = 0; k < p.depth; ++k) sum += p.a[i * p.row + k * p.step] * p.b[k * p.ldb + j];
            p.c[i * p.ldc + j] += p.sign * sum;
        }
    }
}

void add_scaled_row(float by, const float * from, int64_t n, float * to) {
    const FloatTag d;
    const Float factor = hn::Set(d, by);
    const int64_t lanes = float_lanes();
    int64_t j = 0;
    for (; j + lanes <= n; j += lanes)
        hn::StoreU(hn::MulAdd(factor, hn::LoadU(d, from + j), hn::LoadU(d, to + j)), d, to + j);
    for (; j < n; ++j) to[j] += by * from[j];
}

} // namespace
} // namespace sd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sd {

HWY_EXPORT(add_product);
HWY_EXPORT(add_scaled_row);

void add_product(const Product & p) { HWY_DYNAMIC_DISPATCH(add_product)(p); }
void add_scaled_row(float by, const float * from, int64_t n, float * to) {
    HWY_DYNAMIC_DISPATCH(add_scaled_row)(by, from, n, to);
}

} // namespace sd
#endif
