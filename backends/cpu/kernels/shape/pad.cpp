// PAD and ROLL are one operation: along each dimension, dst index i shows source index i - shift, wrapped
// around or, outside of the source, nothing.
#include "backends/cpu/kernels/copy/row_convert.h"
#include "backends/cpu/kernels/shape/shape.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/layout.h"
#include "runtime/tensor/types.h"

#include <algorithm>
#include <cstring>

namespace ggml::cpu {
namespace {

struct AxisMap {
    int64_t shift, n;
    bool wrap;

    // Source index, or -1.
    int64_t operator()(int64_t i) const {
        const int64_t at = i - shift;
        if (wrap) return (at % n + n) % n;
        return at >= 0 && at < n ? at : -1;
    }
};

struct Maps {
    AxisMap axis[GGML_MAX_DIMS];

    explicit Maps(const ggml_tensor * dst) {
        const auto pad = get_params<PadParams>(dst);
        const auto roll = get_params<RollParams>(dst);
        const int32_t left[] = {pad.lp0, pad.lp1, pad.lp2, pad.lp3};
        for (int i = 0; i < GGML_MAX_DIMS; ++i) {
            const bool rolls = dst->op == GGML_OP_ROLL;
            axis[i] = {rolls ? roll.shift[i] : left[i], dst->src[0]->ne[i], rolls || pad.circular != 0};
        }
    }

    // Source row of a dst row; false when there is none.
    bool source_row(RowIndex r, RowIndex & from) const {
        from = {axis[1](r.i1), axis[2](r.i2), axis[3](r.i3)};
        return from.i1 >= 0 && from.i2 >= 0 && from.i3 >= 0;
    }
};

// All plain types have the zero value in zero bytes.
void fill_zero(char * dst, size_t stride, int64_t n, size_t unit) {
    if (n <= 0) return;
    if (stride == unit) {
        std::memset(dst, 0, size_t(n) * unit);
    } else {
        for (int64_t i = 0; i < n; ++i) std::memset(dst + size_t(i) * stride, 0, unit);
    }
}

void map_row(const AxisMap & map, const char * src, size_t src_stride, char * dst, size_t dst_stride,
             int64_t n, size_t unit) {
    int64_t done = 0;
    if (!map.wrap) {
        done = std::clamp<int64_t>(map.shift, 0, n);
        fill_zero(dst, dst_stride, done, unit);
    }
    while (done < n) {
        const int64_t from = map(done);
        if (from < 0) break;
        const int64_t run = std::min(map.n - from, n - done);
        move_units(src + size_t(from) * src_stride, src_stride, dst + size_t(done) * dst_stride, dst_stride,
                   run, unit);
        done += run;
    }
    fill_zero(dst + size_t(done) * dst_stride, dst_stride, n - done, unit);
}

} // namespace

bool pad_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    if (a == nullptr || a->type != dst->type || type_info(dst->type).block != 1) return false;
    const auto p = get_params<PadParams>(dst);
    const int64_t added[] = {int64_t(p.lp0) + p.rp0, int64_t(p.lp1) + p.rp1, int64_t(p.lp2) + p.rp2,
                             int64_t(p.lp3) + p.rp3};
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        if (dst->ne[i] != a->ne[i] + added[i]) return false;
    }
    return p.circular == 0 || !ggml_is_empty(a);
}

bool roll_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    return a != nullptr && a->type == dst->type && type_info(dst->type).block == 1 &&
           ggml_are_same_shape(a, dst);
}

ggml_status pad_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const Maps maps(dst);
    const size_t unit = type_info(dst->type).bytes;
    const int64_t grain = std::max<int64_t>(1, kParallelGrain / dst->ne[0]);
    ctx.team.parallel_for(ggml_nrows(dst), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const RowIndex r = row_index(dst, row);
            char * to = row_at<char>(dst, row_offset(dst, r));
            RowIndex from;
            if (maps.source_row(r, from)) {
                map_row(maps.axis[0], row_at<char>(a, row_offset(a, from)), a->nb[0], to, dst->nb[0],
                        dst->ne[0], unit);
            } else {
                fill_zero(to, dst->nb[0], dst->ne[0], unit);
            }
        }
    });
    return GGML_STATUS_SUCCESS;
}

ggml_status pad_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const Maps maps(dst);
    const size_t unit = type_info(dst->type).bytes;
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        RowIndex from;
        const bool inside = maps.source_row(r, from);
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            char * to = row_at<char>(dst, size_t(i) * dst->nb[0] + row_offset(dst, r));
            const int64_t i0 = maps.axis[0](i);
            if (inside && i0 >= 0) {
                std::memcpy(to, row_at<char>(a, size_t(i0) * a->nb[0] + row_offset(a, from)), unit);
            } else {
                std::memset(to, 0, unit);
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
