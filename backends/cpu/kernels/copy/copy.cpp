// DUP, CPY, CONT, SET. The first three are one operation: dst takes the elements of src0, converted to its
// type, in ggml's element order; shapes and layouts may differ.
#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/copy/copy_tensor.h"
#include "backends/cpu/kernels/copy/set.h"

namespace ggml::cpu {
namespace {

bool copy_supports(const ggml_tensor * dst) { return can_copy(dst->src[0], dst); }

ggml_status copy_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    copy_tensor(ctx.team, dst->src[0], dst);
    return GGML_STATUS_SUCCESS;
}

ggml_status copy_reference(const KernelContext &, ggml_tensor * dst) {
    copy_tensor_reference(dst->src[0], dst);
    return GGML_STATUS_SUCCESS;
}

constexpr OpKernels kCopy[] = {
    {GGML_OP_DUP, copy_supports, copy_kernel, copy_reference},
    {GGML_OP_CPY, copy_supports, copy_kernel, copy_reference},
    {GGML_OP_CONT, copy_supports, copy_kernel, copy_reference},
    {GGML_OP_SET, set_supports, set_kernel, set_reference},
};

} // namespace

Family family_copy() { return kCopy; }

} // namespace ggml::cpu
