// SET: a copy of src0 in which a region, given by byte strides and offset, is replaced by src1.
#pragma once

#include "backends/cpu/kernel.h"

namespace ggml::cpu {

bool set_supports(const ggml_tensor * dst);
ggml_status set_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status set_reference(const KernelContext & ctx, ggml_tensor * dst);

} // namespace ggml::cpu
