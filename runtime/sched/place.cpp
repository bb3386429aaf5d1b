#include "runtime/sched/sched.h"

#include "runtime/base/log.h"

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

} // namespace

bool reserve_storage(Scheduler & s) {
    AllocGraph & alloc = s.alloc;
    // Buffers may move, and queued work still knows the old addresses.
    for (int b = 0; b < s.n_backends; ++b) ggml_backend_synchronize(s.backends[size_t(b)]);
    s.reserved_node_ids.clear();
    s.reserved_leaf_ids.clear();
    if (!ggml_gallocr_reserve_n(s.galloc, &alloc.graph, alloc.node_ids.data(), alloc.leaf_ids.data())) {
        GGML_LOG_ERROR("scheduler: no memory for the buffers of a graph of %d nodes\n", alloc.graph.n_nodes);
        return false;
    }
    s.reserved_node_ids = alloc.node_ids;
    s.reserved_leaf_ids = alloc.leaf_ids;
    return true;
}

bool place(Scheduler & s) {
    AllocGraph & alloc = s.alloc;
    // The allocator compares shapes with its plan, but does not know that a node has moved to another
    // backend.
    if (same_buffers(s, alloc.node_ids, s.reserved_node_ids) &&
        same_buffers(s, alloc.leaf_ids, s.reserved_leaf_ids) &&
        ggml_gallocr_alloc_graph(s.galloc, &alloc.graph)) {
        return true;
    }
    return reserve_storage(s) && ggml_gallocr_alloc_graph(s.galloc, &alloc.graph);
}

} // namespace ggml::sched
