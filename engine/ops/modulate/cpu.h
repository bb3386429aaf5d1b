// The inner loop of a modulate kernel. Promise: kernels of one node give the same bits.
//
// Scale and shift of a model's width do not stay in the first-level cache beside the activations, so rows
// that share them are computed four at a time: 1.1 of a plain copy's rate instead of 0.7.
#pragma once

#include <cstdint>

namespace sd {

// y[i] = (x[i * x_step] + x[i * x_step] * scale[i * scale_step]) + shift[i * shift_step], for each row.
struct ModulateSpan {
    static constexpr int kMaxRows = 4;

    const float * x;
    int64_t x_step, x_row;
    const float * scale;
    int64_t scale_step;
    const float * shift; // NULL: none
    int64_t shift_step;
    float * y; // nothing that is read
    int64_t y_row;
    int64_t n;
    int rows; // 1 .. kMaxRows
};

void modulate_span_simd(const ModulateSpan & span); // steps are 0 or 1
void modulate_span_scalar(const ModulateSpan & span);

} // namespace sd
