// Dense F32 products through oneDNN, the only file that knows it. y = x * w^T with row-major operands: w is
// [n][k], x is [m][k], y is [m][n]; strides are in elements.
#pragma once

#include "ggml.h"

#include <cstdint>

namespace ggml::cpu::matmul {

struct Gemm {
    int64_t m, n, k;
    const float * x;
    int64_t ldx;
    const float * w;
    int64_t ldw;
    float * y;
    int64_t ldy;
};

// On one thread: no set-up cost, for small products inside a parallel section. The result depends on the
// operands only (on several threads this routine may split k, and then it would depend on their number).
ggml_status gemm_here(const Gemm & g);

// y += or = transpose(x) * w with x [k][m] and w [k][n]; like gemm_here.
ggml_status gemm_outer_here(const Gemm & g, bool accumulate);

// On the whole team, from its driving thread. Prepared kernels are kept per driving thread and shape; the
// result does not depend on the number of threads.
ggml_status gemm_team(const Gemm & g, int n_threads);

} // namespace ggml::cpu::matmul
