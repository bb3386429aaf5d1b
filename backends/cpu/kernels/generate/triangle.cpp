// TRI and DIAG: each row of the result is a run of source elements between runs of zeros.
#include "backends/cpu/kernels/copy/row_convert.h"
#include "backends/cpu/kernels/generate/generate.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/layout.h"
#include "runtime/tensor/types.h"

#include <algorithm>
#include <cstring>

namespace ggml::cpu {
namespace {

// Columns [begin, end) of a row that come from the source.
struct Kept {
    int64_t begin, end;
};

Kept kept_columns(const ggml_tensor * dst, int64_t row) {
    if (dst->op == GGML_OP_DIAG) return {row, row + 1};
    const int64_t n = dst->ne[0];
    switch (get_params<TriParams>(dst).type) {
    case GGML_TRI_TYPE_UPPER_DIAG: return {std::min(row, n), n};
    case GGML_TRI_TYPE_UPPER: return {std::min(row + 1, n), n};
    case GGML_TRI_TYPE_LOWER_DIAG: return {0, std::min(row + 1, n)};
    default: return {0, std::min(row, n)};
    }
}

// DIAG reads its only source row for every row.
const char * source_row(const ggml_tensor * dst, RowIndex r) {
    const ggml_tensor * a = dst->src[0];
    if (dst->op == GGML_OP_DIAG) r.i1 = 0;
    return row_at<char>(a, row_offset(a, r));
}

void clear(char * row, size_t stride, int64_t begin, int64_t end, size_t unit) {
    if (begin >= end) return;
    if (stride == unit) {
        std::memset(row + size_t(begin) * unit, 0, size_t(end - begin) * unit);
    } else {
        for (int64_t i = begin; i < end; ++i) std::memset(row + size_t(i) * stride, 0, unit);
    }
}

ggml_status triangle_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const size_t unit = type_info(dst->type).bytes, src_stride = dst->src[0]->nb[0], stride = dst->nb[0];
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / dst->ne[0]);
    ctx.team.parallel_for(ggml_nrows(dst), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const RowIndex r = row_index(dst, row);
            const Kept kept = kept_columns(dst, r.i1);
            char * to = row_at<char>(dst, row_offset(dst, r));
            clear(to, stride, 0, kept.begin, unit);
            move_units(source_row(dst, r) + size_t(kept.begin) * src_stride, src_stride,
                       to + size_t(kept.begin) * stride, stride, kept.end - kept.begin, unit);
            clear(to, stride, kept.end, dst->ne[0], unit);
        }
    });
    return GGML_STATUS_SUCCESS;
}

bool keeps(const ggml_tensor * dst, int64_t column, int64_t row) {
    if (dst->op == GGML_OP_DIAG) return column == row;
    switch (get_params<TriParams>(dst).type) {
    case GGML_TRI_TYPE_UPPER_DIAG: return column >= row;
    case GGML_TRI_TYPE_UPPER: return column > row;
    case GGML_TRI_TYPE_LOWER_DIAG: return column <= row;
    default: return column < row;
    }
}

ggml_status triangle_reference(const KernelContext &, ggml_tensor * dst) {
    const size_t unit = type_info(dst->type).bytes;
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            char * to = row_at<char>(dst, size_t(i) * dst->nb[0] + row_offset(dst, r));
            if (keeps(dst, i, r.i1)) {
                std::memmove(to, source_row(dst, r) + size_t(i) * dst->src[0]->nb[0], unit);
            } else {
                std::memset(to, 0, unit);
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

bool has_plain_type(const ggml_tensor * a, const ggml_tensor * dst) {
    return a != nullptr && a->type == dst->type && type_info(dst->type).block == 1;
}

} // namespace

bool tri_supports(const ggml_tensor * dst) {
    const int32_t type = get_params<TriParams>(dst).type;
    return has_plain_type(dst->src[0], dst) && ggml_are_same_shape(dst->src[0], dst) &&
           type >= GGML_TRI_TYPE_UPPER_DIAG && type <= GGML_TRI_TYPE_LOWER;
}

bool diag_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    return has_plain_type(a, dst) && a->ne[0] == dst->ne[0] && a->ne[0] == dst->ne[1] && a->ne[1] == 1 &&
           a->ne[2] == dst->ne[2] && a->ne[3] == dst->ne[3];
}

ggml_status tri_kernel(const KernelContext & ctx, ggml_tensor * dst) { return triangle_kernel(ctx, dst); }
ggml_status tri_reference(const KernelContext & ctx, ggml_tensor * dst) {
    return triangle_reference(ctx, dst);
}
ggml_status diag_kernel(const KernelContext & ctx, ggml_tensor * dst) { return triangle_kernel(ctx, dst); }
ggml_status diag_reference(const KernelContext & ctx, ggml_tensor * dst) {
    return triangle_reference(ctx, dst);
}

} // namespace ggml::cpu
