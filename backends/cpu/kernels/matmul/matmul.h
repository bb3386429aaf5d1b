// The operators of this family. Results are F32; see quant_matmul.h and float_matmul.h for the arithmetic.
//
// MUL_MAT     dst[n, m, i2, i3] = sum_k src0[k, n, i2 / r2, i3 / r3] * src1[k, m, i2, i3], r = ne of src1 /
// ne of src0 MUL_MAT_ID  dst[n, e, t] = sum_k src0[k, n, ids[e, t]] * src1[k, e % ne of src1, t] OUT_PROD
// dst[a, b, i2, i3] = sum_j src0[a, j, i2 / r2, i3 / r3] * src1[b, j, i2, i3]
//
// Quantized src0 in the first two: activations are quantized too, whatever the precision hint says, as ggml
// does on CPUs. GGML_PREC_F32 needs nothing more: everything else is F32 arithmetic already. The Hadamard
// hint is a promise about src0's values that needs no action. OUT_PROD always multiplies dequantized values.
#pragma once

#include "backends/cpu/kernel.h"

namespace ggml::cpu::matmul {

bool mul_mat_supports(const ggml_tensor * dst);
ggml_status mul_mat(const KernelContext & ctx, ggml_tensor * dst);
size_t mul_mat_scratch(const ggml_tensor * dst, int n_threads);
ggml_status mul_mat_reference(const KernelContext & ctx, ggml_tensor * dst);

bool mul_mat_id_supports(const ggml_tensor * dst);
ggml_status mul_mat_id(const KernelContext & ctx, ggml_tensor * dst);
size_t mul_mat_id_scratch(const ggml_tensor * dst, int n_threads);
ggml_status mul_mat_id_reference(const KernelContext & ctx, ggml_tensor * dst);

bool out_prod_supports(const ggml_tensor * dst);
ggml_status out_prod(const KernelContext & ctx, ggml_tensor * dst);
size_t out_prod_scratch(const ggml_tensor * dst, int n_threads);
ggml_status out_prod_reference(const KernelContext & ctx, ggml_tensor * dst);

size_t reference_scratch(const ggml_tensor * dst, int n_threads);

// The expert chosen for slot e of token t, or -1 (with a line in the log) when the id names none.
int64_t expert_at(const ggml_tensor * dst, int64_t e, int64_t t);

} // namespace ggml::cpu::matmul
