// Adding a tensor and everything it depends on to a graph. Sources are visited depth first in the order of
// src[], each tensor once; a tensor is appended after its sources. The walk keeps its own path instead of
// recursing: graphs may be a hundred thousand nodes deep.
#include "runtime/graph/graph.h"

#include <cstdint>
#include <new>
#include <vector>

namespace ggml {
namespace {

class ForwardBuilder {
  public:
    // compute: also marks the visited tensors as wanted. Without it they get a place in the order only.
    ForwardBuilder(ggml_cgraph * graph, bool compute) : graph_(graph), compute_(compute) {}

    void add(ggml_tensor * root);

  private:
    struct Step {
        ggml_tensor * tensor;
        int next_src;
        bool placed; // already in the graph; walked again only to mark what it needs
    };

    size_t enter(ggml_tensor * tensor);
    void append(ggml_tensor * tensor);
    [[noreturn]] void full(const ggml_tensor * tensor) const;

    ggml_cgraph * graph_;
    bool compute_;
    std::vector<Step> path_;
};

void ForwardBuilder::full(const ggml_tensor * tensor) const {
    GGML_ABORT(
        "ggml_build_forward_expand: graph of size %d is full (%d nodes, %d leafs), no room for '%s' (%s)",
        graph_->size, graph_->n_nodes, graph_->n_leafs, tensor->name, ggml_op_name(tensor->op));
}

// Puts the tensor on the path if there is something to do below it. Returns its slot in the visited set.
size_t ForwardBuilder::enter(ggml_tensor * tensor) {
    if (compute_ && tensor->op != GGML_OP_NONE) tensor->flags |= GGML_TENSOR_FLAG_COMPUTE;
    size_t slot = graph_->visited.find(tensor);
    if (slot != TensorSet::npos) {
        if (compute_) path_.push_back({tensor, 0, true});
        return slot;
    }
    slot = graph_->visited.insert(tensor);
    if (slot == TensorSet::npos) full(tensor);
    graph_->use_counts[slot] = 0;
    path_.push_back({tensor, 0, false});
    return slot;
}

void ForwardBuilder::append(ggml_tensor * tensor) {
    graph_->uid = 0;
    const bool leaf = tensor->op == GGML_OP_NONE && (tensor->flags & GGML_TENSOR_FLAG_PARAM) == 0;
    int & count = leaf ? graph_->n_leafs : graph_->n_nodes;
    if (count >= graph_->size) full(tensor);
    if (tensor->name[0] == '\0') ggml_format_name(tensor, leaf ? "leaf_%d" : "node_%d", count);
    (leaf ? graph_->leafs : graph_->nodes)[count++] = tensor;
}

void ForwardBuilder::add(ggml_tensor * root) {
    enter(root);
    while (!path_.empty()) {
        Step & step = path_.back(); // invalid once something is entered
        if (step.next_src == GGML_MAX_SRC) {
            const Step done = step;
            path_.pop_back();
            if (!done.placed) append(done.tensor);
            continue;
        }
        ggml_tensor * src = step.tensor->src[step.next_src++];
        if (src == nullptr) continue;
        if (!step.placed) {
            ++graph_->use_counts[enter(src)];
        } else if ((src->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) {
            enter(src);
        }
    }
}

void build(ggml_cgraph * graph, ggml_tensor * tensor, bool compute) {
    try {
        ForwardBuilder(graph, compute).add(tensor);
    } catch (const std::bad_alloc &) {
        GGML_ABORT("ggml_build_forward_expand: out of memory");
    }
}

} // namespace

void build_forward(ggml_cgraph * graph, ggml_tensor * tensor) {
    ForwardBuilder(graph, /*compute=*/true).add(tensor);
}

} // namespace ggml

extern "C" {

void ggml_build_forward_expand(ggml_cgraph * graph, ggml_tensor * tensor) {
    ggml::build(graph, tensor, true);
}

void ggml_build_forward_order(ggml_cgraph * graph, ggml_tensor * tensor) {
    ggml::build(graph, tensor, false);
}

ggml_tensor * ggml_build_forward_select(ggml_cgraph * graph, ggml_tensor ** tensors, int n_tensors, int idx) {
    if (idx < 0 || idx >= n_tensors) {
        GGML_ABORT("ggml_build_forward_select: choice %d of %d tensors", idx, n_tensors);
    }
    for (int i = 0; i < n_tensors; ++i) ggml::build(graph, tensors[i], i == idx);
    return tensors[idx];
}

} // extern "C"
