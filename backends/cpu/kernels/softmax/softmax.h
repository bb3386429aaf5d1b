// Entry points shared between the files of this family.
#pragma once

#include "backends/cpu/kernel.h"

namespace ggml::cpu {

ggml_status softmax_reference(const KernelContext & ctx, ggml_tensor * dst);

bool diag_mask_supports(const ggml_tensor * dst);
ggml_status diag_mask_reference(const KernelContext & ctx, ggml_tensor * dst);
ggml_status diag_mask_kernel(const KernelContext & ctx, ggml_tensor * dst);

} // namespace ggml::cpu
