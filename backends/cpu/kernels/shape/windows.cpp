#include "backends/cpu/kernels/copy/row_convert.h"
#include "backends/cpu/kernels/shape/shape.h"
#include "runtime/base/math.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/layout.h"
#include "runtime/tensor/types.h"

#include <algorithm>
#include <cstring>

namespace ggml::cpu {
namespace {

// Source row of a row of WIN_PART's result; false in the padding.
bool part_source(const ggml_tensor * dst, RowIndex r, RowIndex & from) {
    const ggml_tensor * a = dst->src[0];
    const auto p = get_params<WinPartParams>(dst);
    from = {r.i3 % p.npx * p.w + r.i1, r.i3 / p.npx * p.w + r.i2, 0};
    return from.i1 < a->ne[1] && from.i2 < a->ne[2];
}

// Source row of a row of WIN_UNPART's result; there always is one.
bool unpart_source(const ggml_tensor * dst, RowIndex r, RowIndex & from) {
    const int64_t w = get_params<WinUnpartParams>(dst).w;
    const int64_t per_line = ceil_div(dst->ne[1], w);
    from = {r.i1 % w, r.i2 % w, r.i2 / w * per_line + r.i1 / w};
    return true;
}

using SourceRow = bool (*)(const ggml_tensor * dst, RowIndex r, RowIndex & from);

ggml_status move_rows(const Team & team, ggml_tensor * dst, SourceRow source) {
    const ggml_tensor * a = dst->src[0];
    const size_t unit = type_info(dst->type).bytes;
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / dst->ne[0]);
    team.parallel_for(ggml_nrows(dst), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const RowIndex r = row_index(dst, row);
            char * to = row_at<char>(dst, row_offset(dst, r));
            RowIndex from;
            if (source(dst, r, from)) {
                move_units(row_at<char>(a, row_offset(a, from)), a->nb[0], to, dst->nb[0], dst->ne[0], unit);
            } else {
                for (int64_t i = 0; i < dst->ne[0]; ++i) std::memset(to + size_t(i) * dst->nb[0], 0, unit);
            }
        }
    });
    return GGML_STATUS_SUCCESS;
}

ggml_status move_rows_reference(ggml_tensor * dst, SourceRow source) {
    const ggml_tensor * a = dst->src[0];
    const size_t unit = type_info(dst->type).bytes;
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        RowIndex from;
        const bool inside = source(dst, r, from);
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            char * to = row_at<char>(dst, size_t(i) * dst->nb[0] + row_offset(dst, r));
            if (inside) {
                std::memcpy(to, row_at<char>(a, size_t(i) * a->nb[0] + row_offset(a, from)), unit);
            } else {
                std::memset(to, 0, unit);
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

bool has_plain_rows(const ggml_tensor * a, const ggml_tensor * dst) {
    return a != nullptr && a->type == dst->type && type_info(dst->type).block == 1 && a->ne[0] == dst->ne[0];
}

} // namespace

bool win_part_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const auto p = get_params<WinPartParams>(dst);
    return has_plain_rows(a, dst) && a->ne[3] == 1 && p.w > 0 && p.npx > 0 && dst->ne[1] == p.w &&
           dst->ne[2] == p.w && dst->ne[3] == int64_t(p.npx) * p.npy;
}

bool win_unpart_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const int64_t w = get_params<WinUnpartParams>(dst).w;
    return has_plain_rows(a, dst) && w > 0 && a->ne[1] == w && a->ne[2] == w && dst->ne[3] == 1 &&
           a->ne[3] >= ceil_div(dst->ne[1], w) * ceil_div(dst->ne[2], w);
}

ggml_status win_part_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    return move_rows(ctx.team, dst, part_source);
}
ggml_status win_part_reference(const KernelContext &, ggml_tensor * dst) {
    return move_rows_reference(dst, part_source);
}
ggml_status win_unpart_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    return move_rows(ctx.team, dst, unpart_source);
}
ggml_status win_unpart_reference(const KernelContext &, ggml_tensor * dst) {
    return move_rows_reference(dst, unpart_source);
}

} // namespace ggml::cpu
