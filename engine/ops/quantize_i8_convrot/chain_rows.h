// What the fusion rules compute ahead of a rotation, one row at a time. Every operation is rounded as the
// nodes round it, sums have the order of the CPU's nodes: the bits are theirs at each instruction set.
#pragma once

#include <cstdint>

namespace sd {

// y = modulate((x * s) * weight), s = 1 / sqrt(mean of x^2 + eps), modulate(v) = (v + v * scale) + shift.
// weight, scale and shift are n floats each or NULL: left out. No shift without scale.
struct NormRow {
    const float *x, *weight, *scale, *shift;
    float * y; // nothing that is read
    int64_t n;
    float eps;
};
void norm_row_simd(const NormRow & row);

// y = activation(x) * g
enum class Activation { silu, sigmoid };
void gate_row_simd(Activation activation, const float * x, const float * g, float * y, int64_t n);

} // namespace sd
