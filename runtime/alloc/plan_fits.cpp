#include "runtime/alloc/plan.h"

#include <algorithm>

namespace ggml::alloc {
namespace {

class Check {
  public:
    Check(const GraphPlan & plan, const PlanRequest & request)
        : plan_(plan), graph_(request.graph), specs_(request.specs), skipped_(request.skipped) {}

    bool run() const;

  private:
    bool same_tensor(Id planned, const ggml_tensor * t) const;
    bool is_permanent(const ggml_tensor * t) const;
    bool tensor_fits(Id id, const ggml_tensor * t) const;
    bool view_fits(const TensorPlan & p, const ggml_tensor * t) const;
    bool listed_fits(Id planned, Id position, const ggml_tensor * t) const;
    bool node_fits(int i) const;
    bool unlisted_fits(Id id) const;
    const ggml_tensor * at(Id id) const { return plan_.layout.tensor(graph_, id); }

    bool is_skipped(const ggml_tensor * t) const {
        return skipped_ != nullptr && (skipped_->find(t) != TensorNumbers::kAbsent ||
                                       skipped_->find(storage_owner(t)) != TensorNumbers::kAbsent);
    }

    const GraphPlan & plan_;
    const ggml_cgraph * graph_;
    std::span<const BufferSpec> specs_;
    const TensorNumbers * skipped_;
};

bool Check::is_permanent(const ggml_tensor * t) const {
    return std::any_of(plan_.permanent.begin(), plan_.permanent.end(), [&](Id id) { return at(id) == t; });
}

// Nobody's lifetime depends on which of the permanent leafs is read.
bool Check::same_tensor(Id planned, const ggml_tensor * t) const {
    if (at(planned) == t) return true;
    return !plan_.permanent.empty() && is_permanent(at(planned)) && is_permanent(t);
}

bool Check::view_fits(const TensorPlan & p, const ggml_tensor * t) const {
    if (t->view_src == nullptr) return false;
    return p.shown != kNoId ? same_tensor(p.shown, t->view_src) : has_storage(t->view_src);
}

bool Check::tensor_fits(Id id, const ggml_tensor * t) const {
    const TensorPlan & p = plan_.tensors[size_t(id)];
    if (p.flags != planned_flags(t) || is_skipped(t) != (p.storage == Storage::kSkipped)) return false;
    switch (p.storage) {
    case Storage::kSkipped: return true;
    case Storage::kView: return view_fits(p, t);
    case Storage::kOutside: return t->view_src == nullptr && has_storage(t);
    case Storage::kPlaced: break;
    }
    if (t->view_src != nullptr) return false;
    // With storage: this graph was allocated before, or it now brings its own, which needs none of ours.
    return has_storage(t) || specs_[size_t(p.buffer)].bytes_of(t) <= p.bytes;
}

bool Check::listed_fits(Id planned, Id position, const ggml_tensor * t) const {
    return planned == position ? tensor_fits(position, t) : same_tensor(planned, t);
}

bool Check::node_fits(int i) const {
    const ggml_tensor * node = graph_->nodes[i];
    const Id id = plan_.nodes[size_t(i)];
    if (node->op != plan_.ops[size_t(i)] || !listed_fits(id, plan_.layout.node_id(i), node)) return false;
    size_t edge = i == 0 ? 0 : plan_.edges_end[size_t(i) - 1];
    const size_t end = plan_.edges_end[size_t(i)];
    for (const ggml_tensor * src : node->src) {
        if (src == nullptr) continue;
        if (edge == end || !same_tensor(plan_.edges[edge], src)) return false;
        ++edge;
    }
    if (edge != end) return false;
    const Id in_place_of = plan_.tensors[size_t(id)].in_place_of;
    if (in_place_of == kNoId) return true;
    const ggml_tensor * src = at(in_place_of);
    return same_layout(node, src) && (src->view_src == nullptr || src->view_offs == 0);
}

// The tensor must still be one that the graph does not list, or it would be given storage twice. Unlisted
// tensors are rare (parts of a graph), unlisted ones without storage more so.
bool Check::unlisted_fits(Id id) const {
    const ggml_tensor * t = at(id);
    if (!tensor_fits(id, t)) return false;
    if (plan_.tensors[size_t(id)].storage != Storage::kPlaced || has_storage(t)) return true;
    ggml_tensor ** leafs_end = graph_->leafs + graph_->n_leafs;
    ggml_tensor ** nodes_end = graph_->nodes + graph_->n_nodes;
    return std::find(graph_->leafs, leafs_end, t) == leafs_end &&
           std::find(graph_->nodes, nodes_end, t) == nodes_end;
}

bool Check::run() const {
    const GraphLayout & layout = plan_.layout;
    if (layout.n_leafs != graph_->n_leafs || layout.n_nodes != graph_->n_nodes) return false;
    // An unlisted tensor is reached through the source of a node, which may be missing in another graph.
    for (const GraphLayout::Unlisted & u : layout.unlisted) {
        if (graph_->nodes[u.node]->src[u.src] == nullptr) return false;
    }
    for (int i = 0; i < layout.n_leafs; ++i) {
        if (!listed_fits(plan_.leafs[size_t(i)], i, graph_->leafs[i])) return false;
    }
    for (int i = 0; i < layout.n_nodes; ++i) {
        if (!node_fits(i)) return false;
    }
    for (Id id = layout.node_id(layout.n_nodes); id < Id(layout.n_ids()); ++id) {
        if (!unlisted_fits(id)) return false;
    }
    return true;
}

} // namespace

bool plan_fits(const GraphPlan & plan, const PlanRequest & request) { return Check(plan, request).run(); }

} // namespace ggml::alloc
