// Copies of graphs over other tensors, and of use counts into segments. Everything is checked before the
// destination changes.
#include "runtime/graph/graph.h"
#include "runtime/graph/tensor_numbers.h"

#include "ggml-graph.h"

#include <new>
#include <vector>

namespace ggml {
namespace {

// Every tensor a graph refers to, once: nodes, leafs and the sources of nodes.
std::vector<const ggml_tensor *> referenced_tensors(const ggml_cgraph * graph, TensorNumbers & numbers) {
    size_t most = size_t(graph->n_nodes) + size_t(graph->n_leafs);
    for (int i = 0; i < graph->n_nodes; ++i) {
        for (const ggml_tensor * src : graph->nodes[i]->src) most += src != nullptr;
    }
    numbers.reset(most);
    std::vector<const ggml_tensor *> tensors;
    tensors.reserve(most);
    const auto add = [&](const ggml_tensor * t) {
        if (numbers.insert(t, int(tensors.size())) == int(tensors.size())) tensors.push_back(t);
    };
    for (int i = 0; i < graph->n_leafs; ++i) add(graph->leafs[i]);
    for (int i = 0; i < graph->n_nodes; ++i) {
        add(graph->nodes[i]);
        for (const ggml_tensor * src : graph->nodes[i]->src) {
            if (src != nullptr) add(src);
        }
    }
    return tensors;
}

class MappedCopy {
  public:
    explicit MappedCopy(const ggml_cgraph * src) : src_(src), originals_(referenced_tensors(src, numbers_)) {}

    size_t n_tensors() const { return originals_.size(); }

    // False: an answer is null, given twice, or its edges are not those of the original.
    bool resolve(ggml_graph_tensor_map map, void * user_data) {
        TensorNumbers answers(originals_.size());
        for (size_t i = 0; i < originals_.size(); ++i) {
            ggml_tensor * answer = map(originals_[i], user_data);
            if (answer == nullptr || answers.insert(answer, int(i)) != int(i)) return false;
            copies_.push_back(answer);
        }
        for (int i = 0; i < src_->n_nodes; ++i) {
            if (!same_edges(src_->nodes[i])) return false;
        }
        return true;
    }

    void store(ggml_cgraph * dst) const {
        ggml_graph_clear(dst);
        for (int i = 0; i < src_->n_leafs; ++i) dst->leafs[i] = copy_of(src_->leafs[i]);
        for (int i = 0; i < src_->n_nodes; ++i) dst->nodes[i] = copy_of(src_->nodes[i]);
        dst->n_leafs = src_->n_leafs;
        dst->n_nodes = src_->n_nodes;
        for (size_t i = 0; i < originals_.size(); ++i) {
            dst->use_counts[dst->visited.insert(copies_[i])] = use_count(src_, originals_[i]);
        }
    }

  private:
    ggml_tensor * copy_of(const ggml_tensor * t) const { return copies_[size_t(numbers_.find(t))]; }

    bool same_edges(const ggml_tensor * node) const {
        const ggml_tensor * copy = copy_of(node);
        for (int j = 0; j < GGML_MAX_SRC; ++j) {
            if (copy->src[j] != (node->src[j] != nullptr ? copy_of(node->src[j]) : nullptr)) return false;
        }
        return true;
    }

    const ggml_cgraph * src_;
    TensorNumbers numbers_;
    std::vector<const ggml_tensor *> originals_;
    std::vector<ggml_tensor *> copies_;
};

ggml_status copy_use_counts(ggml_cgraph * dst, const ggml_cgraph * src) {
    TensorNumbers numbers;
    size_t unknown = 0;
    const std::vector<const ggml_tensor *> tensors = referenced_tensors(dst, numbers);
    for (const ggml_tensor * t : tensors) {
        if (src->visited.find(t) == TensorSet::npos) return GGML_STATUS_FAILED;
        unknown += dst->visited.find(t) == TensorSet::npos;
    }
    if (unknown > dst->visited.capacity - dst->visited.count()) return GGML_STATUS_ALLOC_FAILED;
    for (const ggml_tensor * t : tensors) dst->use_counts[dst->visited.insert(t)] = use_count(src, t);
    dst->uid = 0;
    return GGML_STATUS_SUCCESS;
}

} // namespace
} // namespace ggml

extern "C" {

ggml_status ggml_graph_copy_mapped(ggml_cgraph * dst, const ggml_cgraph * src, ggml_graph_tensor_map map,
                                   void * user_data) {
    if (dst == nullptr || src == nullptr || dst == src || map == nullptr) return GGML_STATUS_FAILED;
    if (dst->size < src->n_nodes || dst->size < src->n_leafs) return GGML_STATUS_ALLOC_FAILED;
    try {
        ggml::MappedCopy copy(src);
        if (copy.n_tensors() > dst->visited.capacity) return GGML_STATUS_ALLOC_FAILED;
        if (!copy.resolve(map, user_data)) return GGML_STATUS_FAILED;
        copy.store(dst);
        return GGML_STATUS_SUCCESS;
    } catch (const std::bad_alloc &) {
        return GGML_STATUS_ALLOC_FAILED;
    }
}

ggml_status ggml_graph_copy_use_counts(ggml_cgraph * dst, const ggml_cgraph * src) {
    if (dst == nullptr || src == nullptr) return GGML_STATUS_FAILED;
    try {
        return ggml::copy_use_counts(dst, src);
    } catch (const std::bad_alloc &) {
        return GGML_STATUS_ALLOC_FAILED;
    }
}

} // extern "C"
