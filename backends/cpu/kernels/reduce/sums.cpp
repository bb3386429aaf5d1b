// SUM, SUM_ROWS, MEAN, CUMSUM.
#include "backends/cpu/kernels/copy/element.h"
#include "backends/cpu/kernels/copy/loops.h"
#include "backends/cpu/kernels/reduce/reduce.h"
#include "backends/cpu/kernels/reduce/sum_row.h"
#include "runtime/base/math.h"
#include "runtime/tensor/layout.h"

#include <algorithm>

namespace ggml::cpu {
namespace {

// Elements of one partial sum of SUM: large enough that a million of them are few, small enough to share out.
constexpr int64_t kSumBlock = 32 * 1024;

bool has_float_type(const ggml_tensor * t) {
    return t->type == GGML_TYPE_F32 || t->type == GGML_TYPE_F16 || t->type == GGML_TYPE_BF16;
}

void store_float(ggml_tensor * dst, size_t offset, double value) {
    const float rounded = float(value);
    element_converter(GGML_TYPE_F32, dst->type)(&rounded, row_at<char>(dst, offset));
}

double sum_in_order(const ggml_tensor * t, RowIndex r) {
    const ElementConvert to_float = element_converter(t->type, GGML_TYPE_F32);
    double sum = 0;
    for (int64_t i = 0; i < t->ne[0]; ++i) {
        float value;
        to_float(row_at<char>(t, size_t(i) * t->nb[0] + row_offset(t, r)), &value);
        sum += double(value);
    }
    return sum;
}

double divisor(const ggml_tensor * dst) { return dst->op == GGML_OP_MEAN ? double(dst->src[0]->ne[0]) : 1.0; }

} // namespace

bool sum_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    return a != nullptr && has_float_type(a) && has_float_type(dst) && ggml_is_scalar(dst);
}

size_t sum_scratch(const ggml_tensor * dst, int) {
    return size_t(ceil_div(ggml_nelements(dst->src[0]), kSumBlock)) * sizeof(double);
}

ggml_status sum_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const int64_t n = ggml_nelements(a), blocks = ceil_div(n, kSumBlock);
    const Grid grid = make_grid(a);
    double * partial = reinterpret_cast<double *>(ctx.scratch.data());
    ctx.team.parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t block = begin; block < end; ++block) {
            partial[block] = 0;
            GridCursor at(grid, block * kSumBlock);
            for (int64_t left = std::min(kSumBlock, n - block * kSumBlock); left > 0;) {
                const int64_t run = std::min(left, at.run());
                partial[block] += sum_run(a->type, row_at<char>(a, at.offset()), at.stride(), run);
                at.advance(run);
                left -= run;
            }
        }
    });
    double sum = 0;
    for (int64_t block = 0; block < blocks; ++block) sum += partial[block];
    store_float(dst, 0, sum);
    return GGML_STATUS_SUCCESS;
}

ggml_status sum_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    double sum = 0;
    for (int64_t row = 0; row < ggml_nrows(a); ++row) sum += sum_in_order(a, row_index(a, row));
    store_float(dst, 0, sum);
    return GGML_STATUS_SUCCESS;
}

bool row_sums_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    return a != nullptr && has_float_type(a) && has_float_type(dst) && dst->ne[0] == 1 &&
           dst->ne[1] == a->ne[1] && dst->ne[2] == a->ne[2] && dst->ne[3] == a->ne[3];
}

ggml_status row_sums_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, a->ne[0]));
    ctx.team.parallel_for(ggml_nrows(dst), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const RowIndex r = row_index(dst, row);
            const double sum = sum_run(a->type, row_at<char>(a, row_offset(a, r)), a->nb[0], a->ne[0]);
            store_float(dst, row_offset(dst, r), sum / divisor(dst));
        }
    });
    return GGML_STATUS_SUCCESS;
}

ggml_status row_sums_reference(const KernelContext &, ggml_tensor * dst) {
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        store_float(dst, row_offset(dst, r), sum_in_order(dst->src[0], r) / divisor(dst));
    }
    return GGML_STATUS_SUCCESS;
}

bool cumsum_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    return a != nullptr && a->type == GGML_TYPE_F32 && dst->type == GGML_TYPE_F32 &&
           ggml_are_same_shape(a, dst);
}

ggml_status cumsum_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        double sum = 0;
        for (int64_t i = 0; i < a->ne[0]; ++i) {
            sum += double(*row_at<float>(a, size_t(i) * a->nb[0] + row_offset(a, r)));
            *row_at<float>(dst, size_t(i) * dst->nb[0] + row_offset(dst, r)) = float(sum);
        }
    }
    return GGML_STATUS_SUCCESS;
}

// The chain of additions is the specification, so only rows run in parallel.
ggml_status cumsum_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / 4 / dst->ne[0]);
    ctx.team.parallel_for(ggml_nrows(dst), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const RowIndex r = row_index(dst, row);
            const char * from = row_at<char>(a, row_offset(a, r));
            char * to = row_at<char>(dst, row_offset(dst, r));
            double sum = 0;
            for (int64_t i = 0; i < a->ne[0]; ++i) {
                sum += double(load_element<float>(from + size_t(i) * a->nb[0]));
                store_element(to + size_t(i) * dst->nb[0], float(sum));
            }
        }
    });
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
