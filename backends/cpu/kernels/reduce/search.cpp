// ARGMAX and COUNT_EQUAL.
#include "backends/cpu/kernels/copy/element.h"
#include "backends/cpu/kernels/copy/loops.h"
#include "backends/cpu/kernels/reduce/reduce.h"
#include "runtime/tensor/layout.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cmath>

namespace ggml::cpu {
namespace {

// ARGMAX answers the last of equal maxima, as ggml does on the CPU; a row of NaN alone answers 0.

// Sixteen running maxima, a form the compiler turns into vector code. Comparisons with NaN are false, so NaN
// never becomes a maximum.
float largest(const float * x, int64_t n) {
    constexpr int64_t kLanes = 16;
    float best[kLanes];
    std::fill(best, best + kLanes, -INFINITY);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int64_t l = 0; l < kLanes; ++l) best[l] = x[i + l] > best[l] ? x[i + l] : best[l];
    }
    float result = -INFINITY;
    for (; i < n; ++i) result = x[i] > result ? x[i] : result;
    for (const float b : best) result = b > result ? b : result;
    return result;
}

int32_t argmax_contiguous(const float * x, int64_t n) {
    const float max = largest(x, n);
    int64_t at = n - 1;
    while (at > 0 && x[at] != max) --at;
    return int32_t(std::max<int64_t>(at, 0));
}

int32_t argmax_strided(const char * p, size_t stride, int64_t n) {
    float max = -INFINITY;
    int32_t at = 0;
    for (int64_t i = 0; i < n; ++i) {
        const float x = load_element<float>(p + size_t(i) * stride);
        if (x >= max) {
            max = x;
            at = int32_t(i);
        }
    }
    return at;
}

int64_t count_run(const char * a, size_t a_stride, const char * b, size_t b_stride, int64_t n) {
    int64_t count = 0;
    if (a_stride == sizeof(int32_t) && b_stride == sizeof(int32_t)) {
        const auto * x = reinterpret_cast<const int32_t *>(a);
        const auto * y = reinterpret_cast<const int32_t *>(b);
        for (int64_t i = 0; i < n; ++i) count += x[i] == y[i];
    } else {
        for (int64_t i = 0; i < n; ++i) {
            count += load_element<int32_t>(a + size_t(i) * a_stride) ==
                     load_element<int32_t>(b + size_t(i) * b_stride);
        }
    }
    return count;
}

} // namespace

bool argmax_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    return a != nullptr && a->type == GGML_TYPE_F32 && dst->type == GGML_TYPE_I32 && dst->ne[0] == a->ne[1] &&
           ggml_is_matrix(a) && ggml_nrows(dst) == 1 && a->ne[0] <= INT_MAX;
}

ggml_status argmax_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, a->ne[0]));
    ctx.team.parallel_for(a->ne[1], grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const char * p = row_at<char>(a, size_t(row) * a->nb[1]);
            const int32_t at = a->nb[0] == sizeof(float)
                                   ? argmax_contiguous(reinterpret_cast<const float *>(p), a->ne[0])
                                   : argmax_strided(p, a->nb[0], a->ne[0]);
            *row_at<int32_t>(dst, size_t(row) * dst->nb[0]) = at;
        }
    });
    return GGML_STATUS_SUCCESS;
}

ggml_status argmax_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    for (int64_t row = 0; row < a->ne[1]; ++row) {
        const char * p = row_at<char>(a, size_t(row) * a->nb[1]);
        *row_at<int32_t>(dst, size_t(row) * dst->nb[0]) = argmax_strided(p, a->nb[0], a->ne[0]);
    }
    return GGML_STATUS_SUCCESS;
}

bool count_equal_supports(const ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    return a != nullptr && b != nullptr && a->type == GGML_TYPE_I32 && b->type == GGML_TYPE_I32 &&
           dst->type == GGML_TYPE_I64 && ggml_is_scalar(dst) && ggml_are_same_shape(a, b);
}

ggml_status count_equal_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    const Grid ga = make_grid(a), gb = make_grid(b);
    std::atomic<int64_t> count{0};
    ctx.team.parallel_for(ggml_nelements(a), kParallelGrain, [&](int64_t begin, int64_t end) {
        GridCursor at_a(ga, begin), at_b(gb, begin);
        int64_t part = 0;
        for (int64_t left = end - begin; left > 0;) {
            const int64_t n = std::min({left, at_a.run(), at_b.run()});
            part += count_run(row_at<char>(a, at_a.offset()), at_a.stride(), row_at<char>(b, at_b.offset()),
                              at_b.stride(), n);
            at_a.advance(n);
            at_b.advance(n);
            left -= n;
        }
        count += part;
    });
    *row_at<int64_t>(dst, 0) = count;
    return GGML_STATUS_SUCCESS;
}

ggml_status count_equal_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    int64_t count = 0;
    for (int64_t row = 0; row < ggml_nrows(a); ++row) {
        const RowIndex r = row_index(a, row);
        for (int64_t i = 0; i < a->ne[0]; ++i) {
            count += *row_at<int32_t>(a, size_t(i) * a->nb[0] + row_offset(a, r)) ==
                     *row_at<int32_t>(b, size_t(i) * b->nb[0] + row_offset(b, r));
        }
    }
    *row_at<int64_t>(dst, 0) = count;
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
