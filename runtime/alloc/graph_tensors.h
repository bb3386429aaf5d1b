// All tensors of a graph as numbers: leafs, then nodes, then tensors that nodes read but the graph does not
// list (parts of a larger graph). Promise: a number finds the tensor in the same position of any graph with
// the same layout, without a search.
#pragma once

#include "runtime/graph/graph.h"
#include "runtime/graph/tensor_numbers.h"

#include <cstdint>
#include <vector>

namespace ggml::alloc {

using Id = int32_t;
inline constexpr Id kNoId = -1;

struct GraphLayout {
    struct Unlisted {
        int32_t node, src; // where it was met first
    };
    int32_t n_leafs = 0;
    int32_t n_nodes = 0;
    std::vector<Unlisted> unlisted;

    size_t n_ids() const { return size_t(n_leafs) + size_t(n_nodes) + unlisted.size(); }
    Id node_id(int i) const { return n_leafs + i; }
    bool is_leaf(Id id) const { return id < n_leafs; }
    bool is_node(Id id) const { return id >= n_leafs && id - n_leafs < n_nodes; }
    bool is_unlisted(Id id) const { return id - n_leafs >= n_nodes; }
    const Unlisted & place_of(Id id) const { return unlisted[size_t(id - n_leafs - n_nodes)]; }

    ggml_tensor * tensor(const ggml_cgraph * graph, Id id) const {
        if (id < n_leafs) return graph->leafs[id];
        if (id - n_leafs < n_nodes) return graph->nodes[id - n_leafs];
        const Unlisted & u = place_of(id);
        return graph->nodes[u.node]->src[u.src];
    }
};

// Layout of one graph together with the search. A tensor listed twice has the number of its first position.
class GraphTensors {
  public:
    explicit GraphTensors(const ggml_cgraph * graph);

    const ggml_cgraph * graph() const { return graph_; }
    const GraphLayout & layout() const { return layout_; }
    ggml_tensor * tensor(Id id) const { return layout_.tensor(graph_, id); }
    Id find(const ggml_tensor * tensor) const { return numbers_.find(tensor); }
    Id node(int i) const { return find(graph_->nodes[i]); }

    // The tensor whose storage this one shows: itself, or the end of its chain of views. kNoId when the graph
    // does not contain that.
    Id owner(Id id) const;

  private:
    const ggml_cgraph * graph_;
    GraphLayout layout_;
    TensorNumbers numbers_;
};

inline const ggml_tensor * storage_owner(const ggml_tensor * tensor) {
    while (tensor->view_src != nullptr) tensor = tensor->view_src;
    return tensor;
}

} // namespace ggml::alloc
