// Weights of the squared error when the importance of each column is known: importance times a magnitude that
// grows with the value but stays positive for zeros.
#pragma once

#include <cmath>

namespace ggml {

inline float sum_of_squares(const float * x, int64_t n) {
    float sum = 0.0f;
    for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
    return sum;
}

// weight = importance * sqrt(variance + x^2)
inline void importance_weights(const float * x, const float * importance, float variance, int n, float * weight) {
    for (int i = 0; i < n; ++i) weight[i] = importance[i] * std::sqrt(variance + x[i] * x[i]);
}

}  // namespace ggml
