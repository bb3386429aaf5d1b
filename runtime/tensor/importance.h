// Weights of the squared error when the importance of each column is known: importance times a magnitude that
// grows with the value but stays positive for zeros.
#pragma once

#include "runtime/tensor/blocks.h"
#include "runtime/tensor/rounding.h"

#include <cmath>
#include <cstdint>

namespace ggml {

inline float sum_of_squares(const float * x, int64_t n) {
    float sum = 0.0f;
    for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
    return sum;
}

// Mean square of a row of 32-value blocks. Blocks that cannot be represented do not count: they must not
// spoil the weights of the others.
inline float row_variance(const float * x, int64_t n) {
    float sum = 0.0f;
    for (int64_t i = 0; i < n; i += kBlock) {
        if (!fits_half_scale(x + i, kBlock)) continue;
        for (int j = 0; j < kBlock; ++j) sum += x[i + j] * x[i + j];
    }
    return sum / float(n);
}

// weight = importance * sqrt(variance + x^2)
inline void importance_weights(const float * x, const float * importance, float variance, int n,
                               float * weight) {
    for (int i = 0; i < n; ++i) weight[i] = importance[i] * std::sqrt(variance + x[i] * x[i]);
}

} // namespace ggml
