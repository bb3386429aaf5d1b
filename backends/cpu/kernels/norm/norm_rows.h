// Sums and scalings of contiguous float rows, the parts the normalizations and softmax are made of.
//
// Accumulation: every element is added in double (squares are exact there), in lanes whose number is fixed by
// the instruction set, over blocks of kRowBlock elements, block sums added in row order. The result depends
// on the row and the instruction set only, never on the thread count or the strides, and before rounding to
// float its relative error is about 1e-15, so instruction sets agree unless a sum lies on the edge between
// two floats.
#pragma once

#include <cstdint>

namespace ggml::cpu {

double sum_row(const float * x, int64_t n);
double sum_squares_row(const float * x, int64_t n);

// Sum of (x[i] - mean)^2, the difference rounded to float.
double sum_centered_squares_row(const float * x, float mean, int64_t n);

// y[i] = x[i] * scale; y may be x.
void scale_row(const float * x, float scale, float * y, int64_t n);

// y[i] = (x[i] - mean) * scale, rounded after each operation; y may be x.
void center_scale_row(const float * x, float mean, float scale, float * y, int64_t n);

} // namespace ggml::cpu
