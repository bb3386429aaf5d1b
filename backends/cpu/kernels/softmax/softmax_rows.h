// The three passes of softmax over a contiguous row of floats.
#pragma once

#include <cstdint>

namespace ggml::cpu {

// y[i] = x[i] * scale, then + slope * mask[i] unless mask is null; each operation rounded. Returns the
// largest y (any value when a y is NaN: the row becomes NaN anyway). y may be x.
float scale_mask_row(const float * x, float scale, const float * mask, float slope, float * y, int64_t n);

// y[i] = exp(y[i] - max) for max >= every y, the difference rounded to float, results below 2^-126 flushed to
// 0; returns the sum, accumulated in double lanes as in norm_rows.h.
double exp_sum_row(float * y, float max, int64_t n);

} // namespace ggml::cpu
