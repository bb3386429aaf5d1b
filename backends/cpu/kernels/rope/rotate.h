// Rotations of contiguous float rows: (x0, x1) -> (x0 c - x1 s, x0 s + x1 c), products rounded before the
// sum.
#pragma once

#include <cstdint>

namespace ggml::cpu {

// c[i] = cos(theta[i]) * magnitude, s[i] = sin(theta[i]) * magnitude, cos and sin rounded to float first.
void sin_cos_row(const double * theta, float magnitude, float * c, float * s, int64_t n);

// Pairs (x[i], x[i + gap]) for i < n <= gap. y may be x.
void rotate_halves(const float * x, int64_t gap, const float * c, const float * s, float * y, int64_t n);

// Pairs (x[2i], x[2i + 1]) for i < n. y may be x.
void rotate_neighbours(const float * x, const float * c, const float * s, float * y, int64_t n);

} // namespace ggml::cpu
