// What a ggml with operator extensions offers beyond nodes of graphs. In a build against another one, asking
// for a report or a trace is an Error that names the build option.
#pragma once

#include "ggml-backend.h"

#include <string>

namespace sd {

// Gives a device the engine's kernels and fusion rules, before it is used for the first time.
void add_operators(ggml_backend_dev_t device);

// Why the last call into ggml of this thread failed, in one line.
std::string ggml_reason();

// Which implementation each node of the graph would get, as text or JSON (docs/extension-api.md).
std::string explain_graph(ggml_backend_sched_t scheduler, ggml_cgraph * graph, bool json);

// Records what runs when, for the whole process, in a file that is written when the trace ends.
void begin_trace(const std::string & file);
void end_trace();

} // namespace sd
