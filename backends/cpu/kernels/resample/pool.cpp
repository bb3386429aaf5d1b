#include "backends/cpu/kernels/copy/element.h"
#include "backends/cpu/kernels/resample/resample.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/layout.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace ggml::cpu {
namespace {

// Both operators as windows over planes. In one dimension each row is a plane of one row.
struct Window {
    bool is_2d, maximum;
    int64_t k0, k1, s0, s1, p0, p1;

    explicit Window(const ggml_tensor * dst) : is_2d(dst->op == GGML_OP_POOL_2D), k1(1), s1(1), p1(0) {
        if (is_2d) {
            const auto p = get_params<Pool2dParams>(dst);
            maximum = p.op == GGML_OP_POOL_MAX;
            k0 = p.k0, k1 = p.k1, s0 = p.s0, s1 = p.s1, p0 = p.p0, p1 = p.p1;
        } else {
            const auto p = get_params<Pool1dParams>(dst);
            maximum = p.op == GGML_OP_POOL_MAX;
            k0 = p.k0, s0 = p.s0, p0 = p.p0;
        }
    }
};

// Source indexes [begin, end) of a window along one dimension of n elements.
struct Range {
    int64_t begin, end;
    Range(int64_t out, int64_t k, int64_t stride, int64_t pad, int64_t n)
        : begin(std::clamp<int64_t>(out * stride - pad, 0, n)),
          end(std::clamp<int64_t>(out * stride - pad + k, 0, n)) {}
};

// A NaN on either side stays.
float larger(float a, float b) { return b > a || std::isnan(b) ? b : a; }

// Folds elements into an average or a maximum, in order.
struct Pooled {
    float sum = 0, max = -FLT_MAX;
    int64_t count = 0;

    void add(float value) {
        sum += value;
        max = count++ == 0 ? value : larger(max, value);
    }
    float result(const Window & w) const {
        if (w.maximum) return max;
        if (w.is_2d) return sum / float(w.k0 * w.k1);
        return count > 0 ? sum / float(count) : 0.0f;
    }
};

template <class T>
float load_float(const char * p) {
    return to_arithmetic(load_element<T>(p));
}

// One row of the result.
template <class T>
void pool_row(const Window & w, const ggml_tensor * dst, RowIndex r, char * out) {
    const ggml_tensor * a = dst->src[0];
    const Range rows = w.is_2d ? Range(r.i1, w.k1, w.s1, w.p1, a->ne[1]) : Range(r.i1, 1, 1, 0, a->ne[1]);
    const char * plane = row_at<char>(a, row_offset(a, {0, r.i2, r.i3}));
    for (int64_t i = 0; i < dst->ne[0]; ++i) {
        const Range columns(i, w.k0, w.s0, w.p0, a->ne[0]);
        Pooled pooled;
        for (int64_t y = rows.begin; y < rows.end; ++y) {
            const char * row = plane + size_t(y) * a->nb[1];
            for (int64_t x = columns.begin; x < columns.end; ++x) {
                pooled.add(load_float<T>(row + size_t(x) * a->nb[0]));
            }
        }
        store_element(out + size_t(i) * dst->nb[0], pooled.result(w));
    }
}

} // namespace

bool pool_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    if (a == nullptr || (a->type != GGML_TYPE_F32 && a->type != GGML_TYPE_F16) ||
        dst->type != GGML_TYPE_F32) {
        return false;
    }
    const int32_t op = dst->op_params[0]; // first in both structs
    if (op != GGML_OP_POOL_MAX && op != GGML_OP_POOL_AVG) return false;
    const Window w(dst);
    return w.k0 > 0 && w.k1 > 0 && w.s0 > 0 && w.s1 > 0 && (w.is_2d || a->ne[1] == dst->ne[1]) &&
           a->ne[2] == dst->ne[2] && a->ne[3] == dst->ne[3];
}

ggml_status pool_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const Window w(dst);
    const auto row_function = dst->src[0]->type == GGML_TYPE_F32 ? pool_row<float> : pool_row<Half>;
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / (dst->ne[0] * w.k0 * w.k1));
    ctx.team.parallel_for(ggml_nrows(dst), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const RowIndex r = row_index(dst, row);
            row_function(w, dst, r, row_at<char>(dst, row_offset(dst, r)));
        }
    });
    return GGML_STATUS_SUCCESS;
}

// Element by element, with the window's bounds checked for each position.
ggml_status pool_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const Window w(dst);
    const ElementConvert to_float = element_converter(a->type, GGML_TYPE_F32);
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            float sum = 0, max = -INFINITY;
            int64_t count = 0;
            for (int64_t ky = 0; ky < w.k1; ++ky) {
                for (int64_t kx = 0; kx < w.k0; ++kx) {
                    const int64_t x = i * w.s0 - w.p0 + kx, y = w.is_2d ? r.i1 * w.s1 - w.p1 + ky : r.i1;
                    if (x < 0 || x >= a->ne[0] || y < 0 || y >= a->ne[1]) continue;
                    float value;
                    to_float(row_at<char>(a, size_t(x) * a->nb[0] + row_offset(a, {y, r.i2, r.i3})), &value);
                    sum += value;
                    max = larger(max, value);
                    ++count;
                }
            }
            if (count == 0) max = -FLT_MAX;
            const float divisor = w.is_2d ? float(w.k0 * w.k1) : float(std::max<int64_t>(count, 1));
            *row_at<float>(dst, size_t(i) * dst->nb[0] + row_offset(dst, r)) =
                w.maximum ? max : sum / divisor;
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
