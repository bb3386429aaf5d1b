// Reductions. Sums accumulate in double and round once; blocking is fixed by the shape and layout, never by
// the number of threads.
#pragma once

#include "backends/cpu/kernel.h"

namespace ggml::cpu {

// SUM: all elements into one of the same float type. SUM_ROWS and MEAN: each row into one element.
bool sum_supports(const ggml_tensor * dst);
size_t sum_scratch(const ggml_tensor * dst, int n_threads);
ggml_status sum_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status sum_reference(const KernelContext & ctx, ggml_tensor * dst);
bool row_sums_supports(const ggml_tensor * dst);
ggml_status row_sums_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status row_sums_reference(const KernelContext & ctx, ggml_tensor * dst);

// CUMSUM: running sums along rows of F32, each rounded from the running double.
bool cumsum_supports(const ggml_tensor * dst);
ggml_status cumsum_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status cumsum_reference(const KernelContext & ctx, ggml_tensor * dst);

// ARGMAX: index of the first largest element of each row of a matrix. NaN is skipped; a row of NaN gives 0.
bool argmax_supports(const ggml_tensor * dst);
ggml_status argmax_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status argmax_reference(const KernelContext & ctx, ggml_tensor * dst);

// COUNT_EQUAL: number of places where two I32 tensors agree.
bool count_equal_supports(const ggml_tensor * dst);
ggml_status count_equal_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status count_equal_reference(const KernelContext & ctx, ggml_tensor * dst);

} // namespace ggml::cpu
