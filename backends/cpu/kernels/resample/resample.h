// Operators that change the resolution of dimensions 0 and 1.
#pragma once

#include "backends/cpu/kernel.h"

namespace ggml::cpu {

// Average or maximum over windows of F32 or F16 rows (POOL_1D) or planes (POOL_2D), as F32. Padding is no
// element: the maximum ignores it, the one-dimensional average divides by the elements there are. The
// two-dimensional average divides by the window size. NaN inside a window gives NaN. A window of padding only
// gives the lowest finite float as maximum and 0 as average.
bool pool_supports(const ggml_tensor * dst);
ggml_status pool_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status pool_reference(const KernelContext & ctx, ggml_tensor * dst);

// UPSCALE: any new size of an F32 tensor: nearest, bilinear, bilinear with antialiasing, bicubic; dimensions
// 2 and 3 always nearest.
bool upscale_supports(const ggml_tensor * dst);
size_t upscale_scratch(const ggml_tensor * dst, int n_threads);
size_t upscale_reference_scratch(const ggml_tensor * dst, int n_threads);
ggml_status upscale_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status upscale_reference(const KernelContext & ctx, ggml_tensor * dst);

} // namespace ggml::cpu
