#include "backends/cpu/kernels/copy/row_convert.h"
#include "backends/cpu/kernels/shape/shape.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/layout.h"
#include "runtime/tensor/types.h"

#include <algorithm>
#include <cstring>

namespace ggml::cpu {
namespace {

// Copies element `from` of a row to element `to` of another.
void move_one(const char * src, size_t src_stride, int64_t from, char * dst, size_t dst_stride, int64_t to,
              size_t unit) {
    move_units(src + size_t(from) * src_stride, unit, dst + size_t(to) * dst_stride, unit, 1, unit);
}

} // namespace

bool pad_reflect_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const auto p = get_params<PadReflect1dParams>(dst);
    if (a == nullptr || a->type != dst->type || type_info(dst->type).block != 1) return false;
    return p.p0 >= 0 && p.p1 >= 0 && p.p0 < a->ne[0] && p.p1 < a->ne[0] &&
           dst->ne[0] == a->ne[0] + p.p0 + p.p1 && dst->ne[1] == a->ne[1] && dst->ne[2] == a->ne[2] &&
           dst->ne[3] == a->ne[3];
}

ggml_status pad_reflect_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const auto p = get_params<PadReflect1dParams>(dst);
    const size_t unit = type_info(dst->type).bytes;
    const int64_t n = a->ne[0], grain = std::max<int64_t>(1, kParallelGrain / dst->ne[0]);
    ctx.team.parallel_for(ggml_nrows(dst), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const RowIndex r = row_index(dst, row);
            const char * from = row_at<char>(a, row_offset(a, r));
            char * to = row_at<char>(dst, row_offset(dst, r));
            move_units(from, a->nb[0], to + size_t(p.p0) * dst->nb[0], dst->nb[0], n, unit);
            for (int64_t i = 1; i <= p.p0; ++i) move_one(from, a->nb[0], i, to, dst->nb[0], p.p0 - i, unit);
            for (int64_t i = 1; i <= p.p1; ++i) {
                move_one(from, a->nb[0], n - 1 - i, to, dst->nb[0], p.p0 + n - 1 + i, unit);
            }
        }
    });
    return GGML_STATUS_SUCCESS;
}

ggml_status pad_reflect_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const auto p = get_params<PadReflect1dParams>(dst);
    const int64_t last = a->ne[0] - 1;
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            int64_t from = i - p.p0;
            if (from < 0) from = -from;
            if (from > last) from = 2 * last - from;
            std::memcpy(row_at<char>(dst, size_t(i) * dst->nb[0] + row_offset(dst, r)),
                        row_at<char>(a, size_t(from) * a->nb[0] + row_offset(a, r)),
                        type_info(dst->type).bytes);
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
