// Products of F32, F16 or BF16 weights with rows of floats, in F32 arithmetic. Weights that are not F32 rows
// are converted a panel at a time. The order of summation depends on shapes only, never on the number of
// threads.
#pragma once

#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/matmul/operands.h"

#include <functional>

namespace ggml::cpu::matmul {

// Several products of the same shape: y[m][n] = dot(weights row n, x row m), rows of x `ldx` floats apart.
struct FloatProduct {
    Weights weights;
    const float * x;
    int64_t ldx;
    int64_t m;
    float * y;
    int64_t ldy;
};

// True when weights of this type and layout are multiplied where they lie; otherwise they need panels.
bool float_weights_direct(const Weights & weights);

size_t float_scratch(bool direct, int64_t rows, int64_t cols, int64_t m, int n_threads);

// `product_at(i)` gives product i of n; all have the same weight type, rows, cols and m.
ggml_status float_products(const Team & team, int64_t n,
                           const std::function<FloatProduct(int64_t)> & product_at,
                           std::span<std::byte> scratch);

} // namespace ggml::cpu::matmul
