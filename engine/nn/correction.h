// Adapters on dense layers as nodes of a graph.
#pragma once

#include "nn/graph.h"
#include "nn/linear.h"

namespace sd {

// What a correction that is not empty adds to the layer's output. x: F32 [K, rows...].
ggml_tensor * correction(Graph & g, const Correction & c, ggml_tensor * x);

// Nodes it takes, at most.
size_t correction_nodes(const Correction & c);

} // namespace sd
