// A graph of a scheduler once more, over tensors of its own, for executions that must not touch the caller's.
// Promise: same nodes in the same order with the same edges; what the caller had placed is placed in buffers
// of the same type, what the scheduler had placed is left to the next one; weights that nobody writes are
// shared.
#pragma once

#include "ggml-cpp.h"
#include "runtime/sched/sched.h"
#include "runtime/tools/host_copy.h"

#include <unordered_map>
#include <vector>

namespace ggml::tools {

class GraphTwin {
  public:
    // The graph is allocated in the scheduler. False: it is no graph that can be built again.
    bool build(const sched::Scheduler & s, const ggml_cgraph * graph, const LeafContents & leafs);

    ggml_cgraph * graph() const { return graph_; }
    ggml_tensor * of(const ggml_tensor * tensor) const { return twins_.at(tensor); }

  private:
    void twin(const ggml_tensor * t);
    bool place(const ggml_tensor * t, ggml_tensor * made);
    void connect(const sched::Scheduler & s, const ggml_cgraph * graph);
    bool list(const ggml_cgraph * graph);

    ggml_context_ptr ctx_;
    ggml_cgraph * graph_ = nullptr;
    std::unordered_map<const ggml_tensor *, ggml_tensor *> twins_;
    std::vector<ggml_backend_buffer_ptr> buffers_;
};

// The nodes whose contents are what the graph is computed for: marked as outputs, or read by no node.
std::vector<int> result_nodes(const sched::Scheduler & s, const ggml_cgraph * graph);

} // namespace ggml::tools
