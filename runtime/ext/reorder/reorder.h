// Moving nodes within a graph. Promise: afterwards every node still comes behind its sources, every read sees
// the same write, metadata and edges are untouched; or nothing has changed and the verdict says why.
#pragma once

#include "runtime/ext/verdict/verdict.h"

namespace ggml::ext {

// Nodes [first, first + n) move behind node `after`.
bool delay(ggml_cgraph * graph, int first, int n, int after, Verdict * why);

} // namespace ggml::ext
