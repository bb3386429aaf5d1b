#include "backends/cpu/kernels/copy/copy_tensor.h"
#include "backends/cpu/kernels/shape/shape.h"
#include "runtime/tensor/types.h"

#include <cstring>

namespace ggml::cpu {

bool repeat_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    if (a == nullptr || a->type != dst->type) return false;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        if (a->ne[i] == 0 ? dst->ne[i] != 0 : dst->ne[i] % a->ne[i] != 0) return false;
    }
    return can_copy(a, a) && can_copy(dst, dst);
}

// Each dimension is two loops: through the source, and through its copies, where the source stands still.
ggml_status repeat_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const TypeInfo & info = type_info(dst->type);
    LoopNest nest;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        const int64_t n = i == 0 ? a->ne[0] / info.block : a->ne[i];
        nest.add(n, a->nb[i], dst->nb[i]);
        nest.add(dst->ne[i] / a->ne[i], 0, dst->nb[i] * size_t(n));
    }
    copy_nest(ctx.team, nest, row_at<char>(a, 0), row_at<char>(dst, 0), {info.bytes, info.bytes, nullptr});
    return GGML_STATUS_SUCCESS;
}

ggml_status repeat_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const TypeInfo & info = type_info(dst->type);
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        for (int64_t i = 0; i < dst->ne[0]; i += info.block) {
            std::memcpy(
                row_at<char>(dst, size_t(i / info.block) * dst->nb[0] + row_offset(dst, r)),
                row_at<char>(a, size_t(i % a->ne[0] / info.block) * a->nb[0] + repeated_row_offset(a, r)),
                info.bytes);
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
