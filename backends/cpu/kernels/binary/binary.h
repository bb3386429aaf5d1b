// Entry points of the operators of this family that do not fit the common elementwise loop.
#pragma once

#include "backends/cpu/kernel.h"

namespace ggml::cpu {

bool add_id_supports(const ggml_tensor * dst);
ggml_status add_id_reference(const KernelContext & ctx, ggml_tensor * dst);
ggml_status add_id_kernel(const KernelContext & ctx, ggml_tensor * dst);

bool acc_supports(const ggml_tensor * dst);
ggml_status acc_reference(const KernelContext & ctx, ggml_tensor * dst);
ggml_status acc_kernel(const KernelContext & ctx, ggml_tensor * dst);

} // namespace ggml::cpu
