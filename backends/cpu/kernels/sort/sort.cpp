// ARGSORT and TOP_K of F32 rows. The order is total, so results do not depend on the algorithm: equal values
// (and the two zeros) come in the order of their indexes, ascending and descending alike, and NaN comes last.
// TOP_K gives the first k of the descending order, in that order.
#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/copy/element.h"
#include "runtime/base/math.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/layout.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <numeric>

namespace ggml::cpu {
namespace {

// Value and index in one integer whose order is the order of the result.
using Key = uint64_t;

Key make_key(float value, bool descending, uint32_t index) {
    uint32_t order = UINT32_MAX;
    if (!std::isnan(value)) {
        const uint32_t bits = std::bit_cast<uint32_t>(value + 0.0f); // -0 becomes +0
        // Sign and magnitude to offset binary. No value reaches UINT32_MAX either way: it would be a NaN.
        const uint32_t ascending = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
        order = descending ? ~ascending : ascending;
    }
    return Key(order) << 32 | index;
}

bool descending(const ggml_tensor * dst) {
    return dst->op == GGML_OP_TOP_K || get_params<ArgsortParams>(dst).order == GGML_SORT_ORDER_DESC;
}

bool sort_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    if (a == nullptr || a->type != GGML_TYPE_F32 || dst->type != GGML_TYPE_I32 || a->ne[0] > INT_MAX)
        return false;
    if (a->ne[1] != dst->ne[1] || a->ne[2] != dst->ne[2] || a->ne[3] != dst->ne[3]) return false;
    if (dst->op == GGML_OP_TOP_K) return dst->ne[0] <= a->ne[0];
    const int32_t order = get_params<ArgsortParams>(dst).order;
    return dst->ne[0] == a->ne[0] && (order == GGML_SORT_ORDER_ASC || order == GGML_SORT_ORDER_DESC);
}

int sort_threads(const ggml_tensor * dst, int n_threads) {
    return int(std::min<int64_t>(n_threads, ggml_nrows(dst)));
}

size_t sort_scratch(const ggml_tensor * dst, int n_threads) {
    return saturating_mul(sort_threads(dst, n_threads), dst->src[0]->ne[0], sizeof(Key));
}

void sort_row(const ggml_tensor * dst, RowIndex r, Key * keys, char * out) {
    const ggml_tensor * a = dst->src[0];
    const char * values = row_at<char>(a, row_offset(a, r));
    const int64_t n = a->ne[0], k = dst->ne[0];
    const bool down = descending(dst);
    for (int64_t i = 0; i < n; ++i) {
        keys[i] = make_key(load_element<float>(values + size_t(i) * a->nb[0]), down, uint32_t(i));
    }
    if (k < n) std::nth_element(keys, keys + k, keys + n);
    std::sort(keys, keys + k);
    for (int64_t i = 0; i < k; ++i)
        store_element(out + size_t(i) * dst->nb[0], int32_t(keys[i] & UINT32_MAX));
}

ggml_status sort_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const int64_t rows = ggml_nrows(dst), n = dst->src[0]->ne[0];
    Key * keys = reinterpret_cast<Key *>(ctx.scratch.data());
    // Sorting takes some twenty steps an element.
    const int64_t tasks = std::min(rows, 1 + rows * n * 20 / kParallelGrain);
    ctx.team.run(sort_threads(dst, int(std::min<int64_t>(tasks, ctx.team.n_threads()))),
                 [&](int ith, int nth) {
                     for (int64_t row = rows * ith / nth; row < rows * (ith + 1) / nth; ++row) {
                         const RowIndex r = row_index(dst, row);
                         sort_row(dst, r, keys + n * ith, row_at<char>(dst, row_offset(dst, r)));
                     }
                 });
    return GGML_STATUS_SUCCESS;
}

size_t sort_reference_scratch(const ggml_tensor * dst, int) {
    return size_t(dst->src[0]->ne[0]) * sizeof(int32_t);
}

ggml_status sort_reference(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    int32_t * indexes = reinterpret_cast<int32_t *>(ctx.scratch.data());
    const bool down = descending(dst);
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        const char * values = row_at<char>(a, row_offset(a, r));
        const auto comes_before = [&](int32_t i, int32_t j) {
            const float x = load_element<float>(values + size_t(i) * a->nb[0]);
            const float y = load_element<float>(values + size_t(j) * a->nb[0]);
            if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
            if (x < y) return !down;
            if (x > y) return down;
            return i < j;
        };
        std::iota(indexes, indexes + a->ne[0], 0);
        std::sort(indexes, indexes + a->ne[0], comes_before);
        char * out = row_at<char>(dst, row_offset(dst, r));
        for (int64_t i = 0; i < dst->ne[0]; ++i) store_element(out + size_t(i) * dst->nb[0], indexes[i]);
    }
    return GGML_STATUS_SUCCESS;
}

constexpr OpKernels kSort[] = {
    {GGML_OP_ARGSORT, sort_supports, sort_kernel, sort_reference, sort_scratch, sort_reference_scratch},
    {GGML_OP_TOP_K, sort_supports, sort_kernel, sort_reference, sort_scratch, sort_reference_scratch},
};

} // namespace

Family family_sort() { return kSort; }

} // namespace ggml::cpu
