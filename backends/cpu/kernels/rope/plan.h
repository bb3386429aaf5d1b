// What ROPE does to a row, decoded once per node: which elements form pairs, and how fast each pair turns.
#pragma once

#include "ggml.h"

#include <cstdint>

namespace ggml::cpu {

// Pair p of a row is (x[first + p * stride], x[first + p * stride + gap]), 0 <= p < pairs.
struct RopePairs {
    int64_t pairs, first, stride, gap;
};

RopePairs rope_pairs(const ggml_tensor * node);

// True when op_params, types and shapes describe a rotation this family can compute.
bool rope_supports(const ggml_tensor * dst);

// One pair's angle is position[axis] * rate: `axis` chooses among the four position ids of multi-axis modes
// (0 in the others), `rate` is radians per position with frequency factors and YaRN applied.
struct RopeRate {
    double rate;
    int32_t axis;
};

// Writes rope_pairs(node).pairs entries. Reads the frequency factors (node->src[2]).
void rope_rates(const ggml_tensor * node, RopeRate * rates);

// What cos and sin are multiplied with (attention factor, YaRN's magnitude correction).
float rope_magnitude(const ggml_tensor * node);

// Position ids per token: 4 in multi-axis modes, else 1.
int rope_axes(const ggml_tensor * node);

// Position id of token i2 on an axis.
int32_t rope_position(const ggml_tensor * node, int64_t i2, int32_t axis);

ggml_status rope_reference_rows(ggml_tensor * dst, RopeRate * rates);

} // namespace ggml::cpu
