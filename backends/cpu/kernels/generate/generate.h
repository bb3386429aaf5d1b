// Operators whose values come from parameters, or from few inputs. Kernel and scalar reference of each stand
// in one file.
#pragma once

#include "backends/cpu/kernel.h"

namespace ggml::cpu {

// Element i is start + step * i, computed in F32.
bool arange_supports(const ggml_tensor * dst);
ggml_status arange_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status arange_reference(const KernelContext & ctx, ggml_tensor * dst);

// Row i holds cos(t[i] * f[j]) for j < dim/2, then the sines, then a zero if dim is odd;
// f[j] = exp(-ln(max_period) * j / (dim/2)). All in F32.
bool timestep_embedding_supports(const ggml_tensor * dst);
size_t timestep_embedding_scratch(const ggml_tensor * dst, int n_threads);
ggml_status timestep_embedding_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status timestep_embedding_reference(const KernelContext & ctx, ggml_tensor * dst);

// Every element is one value, converted to dst's plain type.
bool fill_supports(const ggml_tensor * dst);
ggml_status fill_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status fill_reference(const KernelContext & ctx, ggml_tensor * dst);

// TRI keeps a triangle of each matrix and clears the rest. DIAG puts a row on the diagonal of a zero matrix.
bool tri_supports(const ggml_tensor * dst);
ggml_status tri_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status tri_reference(const KernelContext & ctx, ggml_tensor * dst);
bool diag_supports(const ggml_tensor * dst);
ggml_status diag_kernel(const KernelContext & ctx, ggml_tensor * dst);
ggml_status diag_reference(const KernelContext & ctx, ggml_tensor * dst);

} // namespace ggml::cpu
