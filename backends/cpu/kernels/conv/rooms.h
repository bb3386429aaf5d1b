// The operators of this family, one file each.
#pragma once

#include "backends/cpu/kernel.h"

namespace ggml::cpu::conv {

// IM2COL and IM2COL_3D
bool im2col_supports(const ggml_tensor * dst);
ggml_status im2col(const KernelContext & ctx, ggml_tensor * dst);
ggml_status im2col_reference(const KernelContext & ctx, ggml_tensor * dst);
size_t im2col_scratch(const ggml_tensor * dst, int n_threads);

bool col2im_1d_supports(const ggml_tensor * dst);
ggml_status col2im_1d(const KernelContext & ctx, ggml_tensor * dst);
ggml_status col2im_1d_reference(const KernelContext & ctx, ggml_tensor * dst);

// CONV_2D and CONV_3D. The kernel is oneDNN's; inputs are rounded to nothing less than F32, whatever the
// kernel's type. Taps over padding take no part in a sum, here and in CONV_2D_DW: an infinite or NaN weight
// reaches only outputs for which it meets the input. (IM2COL writes padding as zeros, and a product with
// those weights is NaN.)
bool conv_supports(const ggml_tensor * dst);
ggml_status conv_dense(const KernelContext & ctx, ggml_tensor * dst);
ggml_status conv_reference(const KernelContext & ctx, ggml_tensor * dst); // CONV_2D_DW too
size_t conv_dense_scratch(const ggml_tensor * dst, int n_threads);

bool conv_2d_dw_supports(const ggml_tensor * dst);
ggml_status conv_2d_dw(const KernelContext & ctx, ggml_tensor * dst);
size_t conv_2d_dw_scratch(const ggml_tensor * dst, int n_threads);

// CONV_TRANSPOSE_1D and CONV_TRANSPOSE_2D
bool conv_transpose_supports(const ggml_tensor * dst);
ggml_status conv_transpose(const KernelContext & ctx, ggml_tensor * dst);
ggml_status conv_transpose_reference(const KernelContext & ctx, ggml_tensor * dst);
size_t conv_transpose_scratch(const ggml_tensor * dst, int n_threads);

} // namespace ggml::cpu::conv
