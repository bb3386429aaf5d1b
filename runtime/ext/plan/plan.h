// How one device computes a list of nodes: ranges it runs itself, kernels of single nodes, fused steps.
// Promise: decided before storage exists and frozen from then on; owns what `prepare` made and destroys it in
// reverse order.
//
//   optimize -> select -> (skipped nodes go to the allocator) -> prepare -> storage -> run
#pragma once

#include "ggml-graph.h"
#include "runtime/ext/selection/selection.h"
#include "runtime/graph/graph.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ggml::ext {

enum class StepKind : uint8_t { native, kernel, fusion };

struct Step {
    StepKind kind = StepKind::native;
    int first = 0, n = 0;            // nodes of the plan's graph
    const Kernel * kernel = nullptr; // null: native
    void * state = nullptr;          // from prepare
    bool prepared = false;           // prepare succeeded, destroy is due
    size_t workspace_bytes = 0;
    uint64_t fingerprint = 0; // of the metadata it was selected for; extensions only
    uint64_t uid = 0;         // of the range as a graph; native only
};

// What planning saw, for explain. Filled only when somebody asks.
struct PlanLog {
    struct Node {
        int node; // in the plan's graph
        StepKind kind;
        const Kernel * chosen;              // null: native
        std::vector<Candidate> losers = {}; // kernels of the single node that were not chosen
    };
    struct Rule {
        const Kernel * rule;
        int fired = 0;
        int longest = 0, at = -1; // longest prefix that matched without firing, and where
        Verdict verdict = {};     // why it did not fire there, or was asked nowhere
    };
    std::vector<Node> nodes; // all, in order
    std::vector<Rule> rules; // all of the device
    Verdict failure;         // of `prepare`
};

struct PlanRequest {
    ggml_backend_t backend = nullptr;
    ggml_backend_buffer_type_t buft = nullptr; // workspaces come from here
    ggml_cgraph * graph = nullptr; // of this device: a view of the whole graph with an order of its own
    const Policy * policy = nullptr;
    bool fuse = false;
    bool placed = false;     // tensors have their storage already (direct computation)
    size_t steps_before = 0; // extension steps of earlier plans of the same graph, for Policy::most_steps
    PlanLog * log = nullptr;
};

class Plan {
  public:
    explicit Plan(const PlanRequest & request);
    ~Plan();
    Plan(const Plan &) = delete;
    Plan & operator=(const Plan &) = delete;

    ggml_backend_t backend;
    ggml_cgraph graph;             // a view: the array of nodes stays the caller's
    const DeviceKernels * kernels; // the registrations it was made from; null: none
    std::vector<Step> steps;
    std::vector<ggml_tensor *> skipped;                 // fused intermediates: metadata only
    size_t n_fused_away = 0;                            // the first of `skipped`; the device skips the others
    size_t workspace_bytes = 0;                         // the most any step asks for
    bool has_extensions = false;                        // any step that is not native
    bool capture_safe = false, replay_reusable = false; // all extension steps are

    void release(); // destroys what is prepared; the plan cannot run afterwards

    ggml_ext_step nodes_of(const Step & step) const { return {graph.nodes + step.first, step.n}; }
};

// Lets the device's fusion rules reorder the graph.
void optimize(const PlanRequest & request);

// Freezes who computes what. Never fails; a node nobody runs stays with the device, which will say so.
// Afterwards the device has optimized the ranges that are left to it, and the nodes it skips are in `skipped`
// too.
void select(Plan & plan, const PlanRequest & request);

// Calls `prepare` of every extension step. On failure nothing stays prepared.
ggml_status prepare(Plan & plan, const PlanRequest & request, Verdict * why);

// Is the plan still what would be made of the graph? False when registrations have changed, or types, shapes,
// strides, parameters or edges of an extension step.
bool is_current(const Plan & plan);

} // namespace ggml::ext
