#include "backends/cpu/kernels/copy/copy_tensor.h"
#include "backends/cpu/kernels/shape/shape.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/types.h"

#include <cstring>

namespace ggml::cpu {
namespace {

Strides strides_of(const ggml_tensor * t) { return {t->nb[0], t->nb[1], t->nb[2], t->nb[3]}; }

// Bytes from the start of dst to where src1 begins.
size_t second_offset(const ggml_tensor * dst, int dim) {
    const ggml_tensor * a = dst->src[0];
    const int64_t block = dim == 0 ? type_info(dst->type).block : 1;
    return size_t(a->ne[dim] / block) * dst->nb[dim];
}

} // namespace

bool concat_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const ggml_tensor * b = dst->src[1];
    const int dim = get_params<ConcatParams>(dst).dim;
    if (a == nullptr || b == nullptr || dim < 0 || dim >= GGML_MAX_DIMS) return false;
    if (a->type != dst->type || b->type != dst->type) return false;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        if (i == dim ? a->ne[i] + b->ne[i] != dst->ne[i] : a->ne[i] != dst->ne[i] || b->ne[i] != dst->ne[i])
            return false;
    }
    // A tensor can be copied to its like exactly when its rows are whole blocks.
    return can_copy(a, a) && can_copy(b, b) && can_copy(dst, dst);
}

ggml_status concat_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    ggml_tensor first = region_of(dst, dst->src[0], strides_of(dst), 0);
    copy_tensor(ctx.team, dst->src[0], &first);
    const size_t offset = second_offset(dst, get_params<ConcatParams>(dst).dim);
    ggml_tensor second = region_of(dst, dst->src[1], strides_of(dst), offset);
    copy_tensor(ctx.team, dst->src[1], &second);
    return GGML_STATUS_SUCCESS;
}

ggml_status concat_reference(const KernelContext &, ggml_tensor * dst) {
    const TypeInfo & info = type_info(dst->type);
    const int dim = get_params<ConcatParams>(dst).dim;
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        for (int64_t i = 0; i < dst->ne[0]; i += info.block) {
            int64_t at[GGML_MAX_DIMS] = {i, r.i1, r.i2, r.i3};
            const ggml_tensor * from = dst->src[0];
            if (at[dim] >= from->ne[dim]) {
                at[dim] -= from->ne[dim];
                from = dst->src[1];
            }
            std::memcpy(row_at<char>(dst, size_t(i / info.block) * dst->nb[0] + row_offset(dst, r)),
                        row_at<char>(from, size_t(at[0] / info.block) * from->nb[0] +
                                               row_offset(from, {at[1], at[2], at[3]})),
                        info.bytes);
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
