// Leafs and use counts as ggml-graph.h shows them.
#include "runtime/graph/graph.h"

#include "ggml-graph.h"

extern "C" {

int ggml_graph_n_leafs(const ggml_cgraph * graph) { return graph->n_leafs; }

ggml_tensor * ggml_graph_leaf(const ggml_cgraph * graph, int i) {
    const int index = i < 0 ? graph->n_leafs + i : i;
    return index < 0 || index >= graph->n_leafs ? nullptr : graph->leafs[index];
}

ggml_status ggml_graph_add_leaf(ggml_cgraph * graph, ggml_tensor * tensor) {
    if (tensor == nullptr || graph->visited.find(tensor) != ggml::TensorSet::npos) return GGML_STATUS_FAILED;
    if (graph->n_leafs >= graph->size) return GGML_STATUS_ALLOC_FAILED;
    const size_t slot = graph->visited.insert(tensor);
    if (slot == ggml::TensorSet::npos) return GGML_STATUS_ALLOC_FAILED;
    graph->use_counts[slot] = 0;
    graph->leafs[graph->n_leafs++] = tensor;
    graph->uid = 0;
    return GGML_STATUS_SUCCESS;
}

int32_t ggml_graph_use_count(const ggml_cgraph * graph, const ggml_tensor * tensor) {
    return ggml::use_count(graph, tensor);
}

int32_t ggml_graph_node_use_count(const ggml_cgraph * graph, int i) {
    const int index = i < 0 ? graph->n_nodes + i : i;
    return index < 0 || index >= graph->n_nodes ? 0 : ggml::use_count(graph, graph->nodes[index]);
}

} // extern "C"
