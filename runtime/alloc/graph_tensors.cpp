#include "runtime/alloc/graph_tensors.h"

namespace ggml::alloc {

GraphTensors::GraphTensors(const ggml_cgraph * graph) : graph_(graph) {
    layout_.n_leafs = graph->n_leafs;
    layout_.n_nodes = graph->n_nodes;
    size_t most = size_t(graph->n_leafs) + size_t(graph->n_nodes);
    for (int i = 0; i < graph->n_nodes; ++i) {
        for (const ggml_tensor * src : graph->nodes[i]->src) most += src != nullptr;
    }
    numbers_.reset(most);
    for (int i = 0; i < graph->n_leafs; ++i) numbers_.insert(graph->leafs[i], i);
    for (int i = 0; i < graph->n_nodes; ++i) numbers_.insert(graph->nodes[i], layout_.node_id(i));
    for (int i = 0; i < graph->n_nodes; ++i) {
        for (int j = 0; j < GGML_MAX_SRC; ++j) {
            const ggml_tensor * src = graph->nodes[i]->src[j];
            if (src == nullptr) continue;
            const Id next = Id(layout_.n_ids());
            if (numbers_.insert(src, next) == next) layout_.unlisted.push_back({i, j});
        }
    }
}

Id GraphTensors::owner(Id id) const { return find(storage_owner(tensor(id))); }

} // namespace ggml::alloc
