// FLASH_ATTN_EXT as a specification: one query at a time, in double precision.
#pragma once

#include "backends/cpu/kernel.h"

namespace ggml::cpu {

ggml_status flash_attn_reference(const KernelContext & ctx, ggml_tensor * dst);
size_t flash_attn_reference_scratch(const ggml_tensor * dst, int n_threads);

} // namespace ggml::cpu
