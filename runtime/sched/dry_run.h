// Planning a graph as a scheduler would, in a scheduler of its own. Promise: nothing is allocated on a device
// or executed; the caller's graph is, from the end of DryRun on, as it was, and so is the scheduler, except
// that it has waited for its work. Asking kernels freezes their devices, as any capability query does.
#pragma once

#include "runtime/sched/sched.h"

namespace ggml::sched {

// Brings the graph into the state it had before the scheduler allocated it - sources, and storage the
// scheduler gave - and back to what it was.
class Unallocated {
  public:
    Unallocated(Scheduler & s, ggml_cgraph * graph);
    ~Unallocated();
    Unallocated(const Unallocated &) = delete;
    Unallocated & operator=(const Unallocated &) = delete;

  private:
    void save(ggml_tensor * t);
    struct Saved {
        ggml_tensor * tensor;
        int32_t flags;
        ggml_backend_buffer_t buffer;
        void * data;
    };
    struct Edge {
        ggml_tensor * node;
        int j;
        ggml_tensor * copy;
    };
    std::vector<Saved> saved_;
    std::vector<Edge> edges_; // that cut() has turned to copies
};

class DryRun {
  public:
    // graph: inside an Unallocated.
    DryRun(const Scheduler & like, ggml_cgraph * graph);
    ~DryRun() { restore_sources(scratch); }

    // Once. False: no backend runs a node, see scratch.refusal.
    bool run();

    Scheduler scratch;              // change its policy before the run to see what that would do
    std::vector<ext::PlanLog> logs; // by split
    std::array<size_t, kMaxBackends> tensor_bytes = {}; // by backend; 0 where an earlier one shares memory

  private:
    ggml_cgraph * graph_;
};

} // namespace ggml::sched
