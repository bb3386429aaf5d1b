// The engine's own operators as nodes of a graph, shapes as in sd-ggml-ops.h. What does not fit together is
// an Error with the operator's reason. In a build against another ggml, which has no such operators, the
// first three become nodes it has; the others are never asked for there, as files that need them are refused.
#pragma once

#include "nn/graph.h"
#include "nn/linear.h"

namespace sd {

// x * (1 + scale) + shift
ggml_tensor * modulate(Graph & g, ggml_tensor * x, ggml_tensor * scale, ggml_tensor * shift);

// x: F32 [head, heads, tokens]. pe: F32 [2, 2, pairs, tokens].
ggml_tensor * rope_apply(Graph & g, ggml_tensor * x, ggml_tensor * pe, bool interleaved);

// x: F32 [width, height, channels, batch], normalized over the channels of each pixel.
ggml_tensor * channel_rms_norm(Graph & g, ggml_tensor * x, ggml_tensor * gamma, float eps, bool silu);

// Graph::packed shares these between the layers that read the same x.
ggml_tensor * quantize_i8_convrot(Graph & g, ggml_tensor * x, int group);

// A layer with integer weights, applied to what quantize_i8_convrot made; bias may be NULL.
ggml_tensor * integer_product(Graph & g, const Linear & layer, ggml_tensor * packed, ggml_tensor * bias);

} // namespace sd
