// Inside of the scheduler. A graph goes through the rooms in this order, each reading what the earlier ones
// wrote:
//
//   index    every tensor gets a slot; sources of nodes become slot numbers
//   groups   tensors that share storage will share a backend
//   assign   every slot gets a backend
//   cut      runs of nodes of one backend become splits; sources elsewhere are replaced by copies
//   plans    registered kernels and fusion rules are chosen, split by split, and prepared
//   layout   the graph the allocator sees: nodes plus the copies, in order of execution
//   place    storage, workspaces
//   run      copy inputs, execute, split after split
//
// Promise: no memory is allocated per node once a graph of the same size has been seen; failures are logged
// with the tensor's name and returned.
#pragma once

#include "ggml-backend.h"

#include "runtime/ext/plan/plan.h"
#include "runtime/ext/replay/replay.h"
#include "runtime/graph/graph.h"
#include "runtime/sched/expectations.h"
#include "runtime/sched/tensor_pool.h"
#include "runtime/sched/tensor_table.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ggml::sched {

inline constexpr int kMaxBackends = 16; // bits in TensorState::asked
inline constexpr int kMaxCopies = 4;    // graphs in flight with parallel = true

// Source j of a node.
struct Edge {
    int32_t slot;
    int32_t j;
};

// The graph in slot numbers.
struct GraphIndex {
    std::vector<int32_t> nodes, leafs;
    std::vector<int32_t> writers;    // nodes that write into the storage of another tensor of the graph
    std::vector<Edge> edges;         // of all nodes, one after another
    std::vector<int32_t> first_edge; // of node i; n_nodes + 1 entries

    std::span<const Edge> sources(int node) const {
        const auto begin = size_t(first_edge[size_t(node)]), end = size_t(first_edge[size_t(node) + 1]);
        return {edges.data() + begin, end - begin};
    }
};

// Nodes [begin, end) of the graph, run by one backend in one go.
struct Split {
    int backend;
    int begin, end;
    int first_input, n_inputs; // in Scheduler::split_inputs
    ggml_cgraph graph;         // its nodes in the order they run
    int plan;                  // in Scheduler::plans, -1: the backend runs all of it as it is
};

// How a split runs where extensions compute some of it.
struct SplitPlan {
    ext::Plan plan;
    ext::Replay replay;
    explicit SplitPlan(const ext::PlanRequest & request) : plan(request) {}
};

// Looks at a graph while it runs, extension step by extension step: for tools. While a scheduler has one,
// nothing is replayed and the backend is idle at both calls. `false` ends the execution.
class StepObserver {
  public:
    virtual ~StepObserver() = default;
    virtual bool before(const ext::Plan & plan, const ext::Step & step) = 0;
    virtual bool after(const ext::Plan & plan, const ext::Step & step) = 0;

    ext::Verdict why; // of a step that failed
};

// A source that was replaced by a copy in the caller's graph.
struct Rewired {
    ggml_tensor * node;
    int j;
    ggml_tensor * original;
};

// The graph handed to the allocator, with the buffer of every entry.
struct AllocGraph {
    std::vector<ggml_tensor *> nodes, leafs;
    std::vector<int> node_ids, leaf_ids;
    size_t n_copies = 0; // the first leafs: everything that exists several times
    ggml_cgraph graph = {};
};

enum class Stage {
    kFresh,     // nothing but assignments of the caller
    kSplit,     // cut, without storage
    kAllocated, // ready to run
};

} // namespace ggml::sched

struct ggml_backend_sched {
    int n_backends = 0;
    int n_copies = 1;
    bool op_offload = false;
    std::array<ggml_backend_t, ggml::sched::kMaxBackends> backends = {};
    std::array<ggml_backend_buffer_type_t, ggml::sched::kMaxBackends> bufts = {};
    std::array<uint16_t, ggml::sched::kMaxBackends> reads_buft_of = {}; // bit b: can use bufts[b]
    std::array<std::array<ggml_backend_event_t, ggml::sched::kMaxCopies>, ggml::sched::kMaxBackends> events =
        {};
    ggml_gallocr_t galloc = nullptr;

    ggml_backend_sched_eval_callback callback = nullptr;
    void * callback_data = nullptr;
    ggml::sched::StepObserver * observer = nullptr;

    ggml::sched::Stage stage = ggml::sched::Stage::kFresh;
    const ggml_cgraph * graph = nullptr; // the one the stage speaks about
    int cur_copy = 0, next_copy = 0;
    std::array<bool, ggml::sched::kMaxBackends> pending = {}; // earlier splits another backend must wait for
    bool in_flight = false;             // a graph has been started and nobody has waited for all of it
    std::vector<void *> copy_addresses; // of the parallel copies, where graphs in flight expect them

    ggml::sched::TensorTable tensors;
    ggml::sched::GraphIndex index;
    ggml::sched::TensorPool pool;      // copies and markers
    std::vector<int32_t> first_copy;   // [slot][backend]: position in copies, or -1
    std::vector<ggml_tensor *> copies; // n_copies consecutive entries each
    std::vector<ggml::sched::Split> splits;
    std::vector<int32_t> split_inputs; // slots
    std::vector<int32_t> graph_inputs; // slots of inputs kept n_copies times
    std::vector<ggml::sched::Rewired> rewired;
    std::vector<ggml_tensor *>
        order; // the graph's nodes as the splits run them; the caller's graph keeps its own
    ggml::ext::Policy policy = ggml::ext::Policy::of_environment();
    std::vector<std::unique_ptr<ggml::sched::SplitPlan>> plans;
    std::vector<ggml_tensor *> skipped; // have no storage: somebody computes past them
    std::array<std::shared_ptr<ggml::ext::Workspace>, ggml::sched::kMaxBackends> workspaces;
    ggml::sched::AllocGraph alloc;
    std::vector<int> reserved_node_ids, reserved_leaf_ids; // what galloc was last reserved with

    std::vector<ggml::sched::Expectation> expectations;
    uint64_t executions = 0;                          // successful ones of the allocated graph
    std::vector<ggml::ext::PlanLog> * logs = nullptr; // filled by planning, split by split
    bool dry_run = false;       // problems are noted in `logs` and `refusal`, and not reported
    ggml::ext::Verdict refusal; // why the graph could not be assigned
    std::vector<std::pair<const void *, ggml_ext_reason>> told; // operators whose fallback has been reported

    ggml_backend_sched() = default;
    ggml_backend_sched(const ggml_backend_sched &) = delete;
    ggml_backend_sched & operator=(const ggml_backend_sched &) = delete;
    ~ggml_backend_sched();
};

namespace ggml::sched {

using Scheduler = ggml_backend_sched;

// VIEW, RESHAPE, PERMUTE, TRANSPOSE: they follow the tensor they show and never decide anything.
inline bool is_view_op(ggml_op op) {
    return op == GGML_OP_VIEW || op == GGML_OP_RESHAPE || op == GGML_OP_PERMUTE || op == GGML_OP_TRANSPOSE;
}

inline ggml_backend_buffer_t buffer_of(const ggml_tensor * t) {
    return t->view_src != nullptr ? t->view_src->buffer : t->buffer;
}

// The copy of a tensor on a backend; null when there is none.
inline ggml_tensor * copy_of(const Scheduler & s, int32_t slot, int backend, int copy) {
    const int32_t first = s.first_copy[size_t(slot) * size_t(s.n_backends) + size_t(backend)];
    return first < 0 ? nullptr : s.copies[size_t(first + copy)];
}

// Can this backend read the tensor where it lies or will lie?
bool can_read(Scheduler & s, int32_t slot, int backend);

// Where the backend of a slot is noted, which is with the owner for the members of a group.
inline int16_t & backend_of(Scheduler & s, int32_t slot) {
    const int32_t group = s.tensors[slot].group;
    return s.tensors[group != kNoSlot ? group : slot].backend;
}

// Asks each backend once per tensor and graph. In a group: does it run all of it?
bool supports(Scheduler & s, int backend, int32_t slot);

void index_graph(Scheduler & s, const ggml_cgraph * graph);
void group_writers(Scheduler & s, const ggml_cgraph * graph);
void settle_groups(Scheduler & s);
[[nodiscard]] bool assign(Scheduler & s, const ggml_cgraph * graph);
void cut(Scheduler & s, ggml_cgraph * graph);
[[nodiscard]] bool make_plans(Scheduler & s, ggml_cgraph * graph);
void drop_plans(Scheduler & s);
void lay_out(Scheduler & s, ggml_cgraph * graph);
[[nodiscard]] bool place(Scheduler & s);
[[nodiscard]] bool reserve_storage(Scheduler & s);

// The most workspace any plan of this backend asks for, and making it so.
size_t workspace_bytes(const Scheduler & s, int backend);
[[nodiscard]] bool reserve_workspaces(Scheduler & s);

// Plans a split again whose graph or registrations have changed. False, with a log line, when it cannot run
// with the storage that was given.
[[nodiscard]] bool renew_plan(Scheduler & s, Split & split);

// One split, its inputs in place and the stream in order.
ggml_status execute_split(Scheduler & s, Split & split);
ggml_status run(Scheduler & s);
void wait_for_all(Scheduler & s);

// index to lay_out. False: nothing is changed in the graph.
[[nodiscard]] bool split(Scheduler & s, ggml_cgraph * graph);

// The registered kernels of a backend that refuse a node, and the backend itself with a null kernel; empty
// when it would run the node.
std::vector<ext::Candidate> refusals(const Scheduler & s, int backend, const ggml_tensor * node);

// A registered operator's node that runs on a later backend than a neighbour, whose kernels for it refuse.
struct Fallback {
    int wanted;
    ext::Candidate first; // of the refusals
};
[[nodiscard]] bool find_fallback(const Scheduler & s, const ggml_cgraph * graph, int node, Fallback & out);

// One line for each operator and reason that this scheduler has not reported yet.
void report_fallbacks(Scheduler & s, const ggml_cgraph * graph);

// Why the last execution of a split was no replay; reason NONE: it was one.
ext::Verdict replay_miss(const Scheduler & s, const Split & split);

// Undoes what cut did to the sources of the caller's nodes, which must still exist.
void restore_sources(Scheduler & s);

// Back to kFresh. Touches no tensor: the caller may have freed them.
void reset(Scheduler & s);

} // namespace ggml::sched
