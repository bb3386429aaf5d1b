#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quantize/matrix_kernels.cpp"
#include "ops/common/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/common/float_vector-inl.h"
#include "quantize/matrix_kernels.h"

#include <algorithm>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace sd::HWY_NAMESPACE {
namespace {

constexpr int kRows = 6, kColumns = 2; // of a tile; columns are registers
// What is copied so that a tile reads it in order: 32 KB of b for the first cache, some more of a for the
// second.
constexpr int64_t kDepth = 256, kMostRows = 32 * kRows;

// Of the rows from i on and the depth from k on; rows beyond the end are zeros.
void pack_rows(const Product & p, int64_t i, int64_t rows, int64_t k, int64_t depth, float * to) {
    for (int64_t tile = 0; tile < rows; tile += kRows, to += kRows * depth) {
        for (int r = 0; r < kRows; ++r) {
            const float * const from = p.a + (i + tile + r) * p.row + k * p.step;
            const bool is_there = tile + r < rows;
            for (int64_t d = 0; d < depth; ++d) to[d * kRows + r] = is_there ? from[d * p.step] : 0.0f;
        }
    }
}

void pack_columns(const Product & p, int64_t j, int64_t columns, int64_t k, int64_t depth, float * to) {
    const int64_t width = kColumns * float_lanes();
    for (int64_t d = 0; d < depth; ++d, to += width) {
        const float * const from = p.b + (k + d) * p.ldb + j;
        std::copy(from, from + columns, to);
        std::fill(to + columns, to + width, 0.0f);
    }
}

// out: kRows rows of kColumns registers.
HWY_INLINE void tile(const float * a, const float * b, int64_t depth, float * out) {
    const FloatTag d;
    const int64_t lanes = float_lanes();
    Float sum[kRows][kColumns];
    for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kColumns; ++v) sum[r][v] = hn::Zero(d);
    }
    for (int64_t k = 0; k < depth; ++k, a += kRows, b += kColumns * lanes) {
        Float line[kColumns];
        for (int v = 0; v < kColumns; ++v) line[v] = hn::LoadU(d, b + v * lanes);
        for (int r = 0; r < kRows; ++r) {
            const Float one = hn::Set(d, a[r]);
            for (int v = 0; v < kColumns; ++v) sum[r][v] = hn::MulAdd(one, line[v], sum[r][v]);
        }
    }
    for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kColumns; ++v) hn::StoreU(sum[r][v], d, out + (r * kColumns + v) * lanes);
    }
}

void add_tile(const float * tile, int64_t rows, int64_t columns, float sign, float * c, int64_t ldc) {
    const int64_t width = kColumns * float_lanes();
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t j = 0; j < columns; ++j) c[r * ldc + j] += sign * tile[r * width + j];
    }
}

void add_product(const Product & p) {
    const int64_t width = kColumns * float_lanes();
    std::vector<float> a(size_t(std::min(p.m + kRows, kMostRows) * kDepth)), b(size_t(width * kDepth));
    HWY_ALIGN float sums[kRows * kColumns * (HWY_MAX_BYTES / sizeof(float))];
    for (int64_t i = 0; i < p.m; i += kMostRows) {
        const int64_t rows = std::min(kMostRows, p.m - i);
        for (int64_t k = 0; k < p.depth; k += kDepth) {
            const int64_t depth = std::min(kDepth, p.depth - k);
            pack_rows(p, i, rows, k, depth, a.data());
            for (int64_t j = 0; j < p.n; j += width) {
                const int64_t columns = std::min(width, p.n - j);
                pack_columns(p, j, columns, k, depth, b.data());
                for (int64_t r = 0; r < rows; r += kRows) {
                    tile(a.data() + r * depth, b.data(), depth, sums);
                    add_tile(sums, std::min<int64_t>(kRows, rows - r), columns, p.sign,
                             p.c + (i + r) * p.ldc + j, p.ldc);
                }
            }
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
