// Convolutions as the sums that define them, in double, output by output: taps outside the input are left
// out, so whatever the kernel holds there does not matter. What the reference is made of, what computes sizes
// that oneDNN cannot (StripPlan::possible), and what corrects borders: strips and oneDNN may fill them with
// zeros, which an infinite or NaN weight would turn into NaN.
#pragma once

#include "backends/cpu/kernels/conv/shape.h"
#include "backends/cpu/team.h"

namespace ggml::cpu::conv {

struct Position {
    int64_t n, oc, x, y, z;
};

// Computes one element of the result. Depthwise: kernel.nb_channel is 0, and channel oc is the only one.
void exact_output(const ConvShape & s, const Position & at, bool depthwise);

enum class Outputs { all, at_borders };

// True when the kernel hangs over the border of the input anywhere.
bool has_borders(const ConvShape & s);

// Dense convolutions. at_borders: only outputs over which the kernel hangs over the border of the input.
void exact_outputs(const Team & team, const ConvShape & s, Outputs which);

bool all_finite(const float * values, int64_t n);

} // namespace ggml::cpu::conv
