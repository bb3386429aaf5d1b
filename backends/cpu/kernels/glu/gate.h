// Gated activations: y = act(x) * g, where act(x) is rounded to float before the product. SWIGLU_OAI limits
// both operands and multiplies by g + 1.
#pragma once

#include "ggml.h"
#include "runtime/ops/params.h"

#include <cstdint>

namespace ggml::cpu {

// The specification; activations in double, rounded once.
float gate_scalar(const GluParams & p, float x, float g);

// y[i] = gate(x[i], g[i]) with the best instructions of this processor; y may be x or g.
void gate_row(const GluParams & p, const float * x, const float * g, float * y, int64_t n);

} // namespace ggml::cpu
