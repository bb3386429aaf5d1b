#include "runtime/sched/sched.h"

#include "runtime/base/log.h"
#include "runtime/base/trace.h"

#include <array>

namespace ggml::sched {
namespace {

// Ids of backends that share a buffer type mean the same buffer.
bool same_buffers(const Scheduler & s, const std::vector<int> & a, const std::vector<int> & b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i] && s.bufts[size_t(a[i])] != s.bufts[size_t(b[i])]) return false;
    }
    return true;
}

// True when a new plan for this graph leaves every buffer where it is.
bool fits_buffers(Scheduler & s) {
    AllocGraph & alloc = s.alloc;
    std::array<size_t, kMaxBackends> sizes = {};
    ggml_gallocr_reserve_n_size(s.galloc, &alloc.graph, alloc.node_ids.data(), alloc.leaf_ids.data(),
                                sizes.data());
    for (int b = 0; b < s.n_backends; ++b) {
        const size_t size = sizes[size_t(b)];
        // Storage in several pieces may be cut differently, though its sum is the same.
        if (size > ggml_gallocr_get_buffer_size(s.galloc, b) ||
            size > ggml_backend_buft_get_max_size(s.bufts[size_t(b)])) {
            return false;
        }
    }
    return true;
}

// Graphs in flight read their inputs from the copies of earlier layouts; ours may be written once those are
// safe.
void protect_copies_in_flight(Scheduler & s) {
    bool moved = s.copy_addresses.size() != s.alloc.n_copies;
    for (size_t i = 0; i < s.alloc.n_copies && !moved; ++i)
        moved = s.copy_addresses[i] != s.alloc.leafs[i]->data;
    if (!moved) return;
    if (s.in_flight) wait_for_all(s);
    s.copy_addresses.clear();
    for (size_t i = 0; i < s.alloc.n_copies; ++i) s.copy_addresses.push_back(s.alloc.leafs[i]->data);
}

} // namespace

bool reserve_storage(Scheduler & s) {
    const TraceScope scope("alloc", "reserve");
    AllocGraph & alloc = s.alloc;
    s.reserved_node_ids.clear();
    s.reserved_leaf_ids.clear();
    if (!ggml_gallocr_reserve_n(s.galloc, &alloc.graph, alloc.node_ids.data(), alloc.leaf_ids.data())) {
        GGML_LOG_ERROR("scheduler: no memory for the buffers of a graph of %d nodes\n", alloc.graph.n_nodes);
        return false;
    }
    s.reserved_node_ids = alloc.node_ids;
    s.reserved_leaf_ids = alloc.leaf_ids;
    return reserve_workspaces(s);
}

bool place(Scheduler & s) {
    const TraceScope scope("alloc", "place");
    AllocGraph & alloc = s.alloc;
    // The allocator compares shapes with its plan, but does not know that a node has moved to another
    // backend. With a single buffer it would replace that buffer by itself, under the feet of work in flight.
    const bool may_use_plan = same_buffers(s, alloc.node_ids, s.reserved_node_ids) &&
                              same_buffers(s, alloc.leaf_ids, s.reserved_leaf_ids) &&
                              (s.n_backends > 1 || !s.in_flight);
    if (!may_use_plan || !ggml_gallocr_alloc_graph(s.galloc, &alloc.graph)) {
        if (s.in_flight && !fits_buffers(s)) wait_for_all(s);
        if (!reserve_storage(s) || !ggml_gallocr_alloc_graph(s.galloc, &alloc.graph)) return false;
    }
    protect_copies_in_flight(s);
    return reserve_workspaces(s);
}

} // namespace ggml::sched
