#include "runtime/sched/sched.h"

namespace ggml::sched {
namespace {

int32_t insert_with_owner(Scheduler & s, ggml_tensor * t) {
    const int32_t slot = s.tensors.insert(t);
    if (t->view_src != nullptr && s.tensors[slot].owner == kNoSlot) {
        const int32_t owner = s.tensors.insert(t->view_src);
        s.tensors[slot].owner = owner;
    }
    return slot;
}

} // namespace

void index_graph(Scheduler & s, const ggml_cgraph * graph) {
    GraphIndex & index = s.index;
    s.tensors.reserve(s.tensors.size() + size_t(graph->n_nodes) + size_t(graph->n_leafs));
    index.nodes.clear();
    index.leafs.clear();
    index.writers.clear();
    index.edges.clear();
    index.first_edge.clear();
    for (int i = 0; i < graph->n_leafs; ++i) index.leafs.push_back(insert_with_owner(s, graph->leafs[i]));
    for (int i = 0; i < graph->n_nodes; ++i) {
        ggml_tensor * node = graph->nodes[i];
        index.nodes.push_back(insert_with_owner(s, node));
        index.first_edge.push_back(int32_t(index.edges.size()));
        for (int j = 0; j < GGML_MAX_SRC; ++j) {
            if (node->src[j] != nullptr) index.edges.push_back({insert_with_owner(s, node->src[j]), j});
        }
    }
    index.first_edge.push_back(int32_t(index.edges.size()));
}

} // namespace ggml::sched
