// Activation rows as INT8 ConvRot layers read them: rotated in runs of `group` features, then quantized with
// one scale for the whole row.
//
//   r      = rotate(x)                     float32, multiplied by 1 / sqrt(group) before the radix-4 stages
//   scale  = max |r| / 127
//   codes  = round to even(r * (1 / scale))
//
// Promise: codes and scale have the same bits whatever the instruction set. A row whose scale is below the
// smallest normal float gets zero codes. A row with a NaN or an infinity, or with a rotated value too large
// for a float, gets zero codes and the scale NaN, and nothing else is touched. Only the outputs and
// `scratch` are written.
#pragma once

#include "base/rotation.h" // the first half alone

#include <cstdint>

namespace sd {

struct QuantizeRow {
    const float * x;
    int64_t k; // a multiple of group
    int group;
    int8_t * codes;  // k of them
    float * scale;   // one
    float * scratch; // k floats; may be x, which is then overwritten
    // Rows of k floats that the caller reads next and that memory should bring meanwhile; NULL: none. Without
    // any, what lies behind x.
    const float * next[2] = {};
};

using RotateQuantize = void (*)(const QuantizeRow & row);

// The widest instructions GGML_CPU_ISA allows, chosen at each call.
void rotate_quantize_simd(const QuantizeRow & row);
// Plain C++, for every processor: the arithmetic of the others in readable form.
void rotate_quantize_scalar(const QuantizeRow & row);

} // namespace sd
