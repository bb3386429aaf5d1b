#include "backends/cpu/kernels/copy/set.h"

#include "backends/cpu/kernels/copy/copy_tensor.h"
#include "runtime/ops/params.h"
#include "runtime/tensor/types.h"

namespace ggml::cpu {
namespace {

ggml_tensor written_region(const ggml_tensor * dst) {
    const auto p = get_params<RegionParams>(dst);
    const Strides nb = {dst->nb[0], size_t(p.nb1), size_t(p.nb2), size_t(p.nb3)};
    return region_of(dst, dst->src[1], nb, size_t(p.offset));
}

// The region comes from the graph's author; one that leaves dst is refused here, before memory is touched.
bool region_fits(const ggml_tensor * dst) {
    const auto p = get_params<RegionParams>(dst);
    if (p.nb1 < 0 || p.nb2 < 0 || p.nb3 < 0 || p.offset < 0) return false;
    const ggml_tensor * part = dst->src[1];
    if (ggml_is_empty(part)) return true;
    size_t bytes = 0;
    const Strides nb = {dst->nb[0], size_t(p.nb1), size_t(p.nb2), size_t(p.nb3)};
    if (!span_bytes(dst->type, shape_of(part), nb, bytes)) return false;
    const size_t whole = ggml_nbytes(dst);
    return bytes <= whole && size_t(p.offset) <= whole - bytes;
}

} // namespace

bool set_supports(const ggml_tensor * dst) {
    const ggml_tensor * a = dst->src[0];
    const ggml_tensor * b = dst->src[1];
    if (a == nullptr || b == nullptr || type_info(dst->type).block != 1) return false;
    // The region's strides are those of src0 as much as of dst.
    return a->type == dst->type && b->type == dst->type && ggml_are_same_shape(a, dst) &&
           ggml_are_same_stride(a, dst) && region_fits(dst);
}

// In place means that dst already holds src0: a view of it, or memory the allocator shared.
ggml_status set_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    copy_tensor(ctx.team, dst->src[0], dst);
    ggml_tensor region = written_region(dst);
    copy_tensor(ctx.team, dst->src[1], &region);
    return GGML_STATUS_SUCCESS;
}

ggml_status set_reference(const KernelContext &, ggml_tensor * dst) {
    copy_tensor_reference(dst->src[0], dst);
    ggml_tensor region = written_region(dst);
    copy_tensor_reference(dst->src[1], &region);
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
