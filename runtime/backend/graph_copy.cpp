// A graph with all its data, rebuilt on another backend. Every tensor the nodes touch is duplicated: those
// that own storage in ctx_allocated (one buffer), views of them in ctx_unallocated.
#include "runtime/backend/interface.h"
#include "runtime/base/log.h"
#include "runtime/graph/graph.h"

#include "ggml-cpp.h"
#include "ggml-graph.h"

#include <algorithm>
#include <new>
#include <unordered_map>
#include <vector>

namespace ggml {
namespace {

class GraphCopier {
  public:
    GraphCopier(ggml_backend_t backend, const ggml_cgraph * graph) : backend_(backend), graph_(graph) {}

    // False, with a log line, when memory is short or the graph has no data.
    bool run();
    struct ggml_backend_graph_copy release();

  private:
    bool make_contexts();
    ggml_tensor * duplicate(const ggml_tensor * t);
    void connect(const ggml_tensor * node);
    bool place();
    bool make_graph();

    ggml_backend_t backend_;
    const ggml_cgraph * graph_;
    ggml_context_ptr allocated_, unallocated_;
    ggml_backend_buffer_ptr buffer_;
    ggml_cgraph * copy_ = nullptr;
    std::unordered_map<const ggml_tensor *, ggml_tensor *> copies_;
    std::vector<const ggml_tensor *> order_; // originals in order of duplication, owners before their views
};

bool GraphCopier::make_contexts() {
    size_t tensors = 2 * size_t(graph_->n_leafs);
    for (int i = 0; i < graph_->n_nodes; ++i) {
        // A node and its sources, each possibly with the owner of its storage.
        const auto & src = graph_->nodes[i]->src;
        tensors +=
            2 * (1 + size_t(std::count_if(src, src + GGML_MAX_SRC, [](auto * s) { return s != nullptr; })));
    }
    const size_t graph_size = std::max(size_t(graph_->size), tensors);
    const ggml_init_params params = {tensors * ggml_tensor_overhead() +
                                         ggml_graph_overhead_custom(graph_size, false),
                                     nullptr, /*no_alloc=*/true};
    allocated_.reset(ggml_init(params));
    unallocated_.reset(ggml_init(params));
    if (allocated_ == nullptr || unallocated_ == nullptr) return false;
    return true;
}

ggml_tensor * GraphCopier::duplicate(const ggml_tensor * t) {
    if (const auto found = copies_.find(t); found != copies_.end()) return found->second;
    ggml_tensor * owner = t->view_src != nullptr ? duplicate(t->view_src) : nullptr;
    const bool own_storage = owner == nullptr && t->data != nullptr && !ggml_is_empty(t);
    ggml_tensor * dup = ggml_dup_tensor(own_storage ? allocated_.get() : unallocated_.get(), t);
    std::copy(t->nb, t->nb + GGML_MAX_DIMS, dup->nb);
    dup->view_src = owner;
    dup->view_offs = t->view_offs;
    dup->flags = t->flags;
    ggml_set_name(dup, t->name);
    copies_.emplace(t, dup);
    order_.push_back(t);
    return dup;
}

// Only nodes of the graph keep their operator: the others are data here.
void GraphCopier::connect(const ggml_tensor * node) {
    ggml_tensor * dup = duplicate(node);
    dup->op = node->op;
    std::copy(std::begin(node->op_params), std::end(node->op_params), dup->op_params);
    for (int j = 0; j < GGML_MAX_SRC; ++j) {
        if (node->src[j] != nullptr) dup->src[j] = duplicate(node->src[j]);
    }
}

bool GraphCopier::place() {
    const bool needs_memory = ggml_get_first_tensor(allocated_.get()) != nullptr;
    if (needs_memory) buffer_.reset(ggml_backend_alloc_ctx_tensors(allocated_.get(), backend_));
    if (needs_memory && buffer_ == nullptr) {
        GGML_LOG_ERROR("graph copy: no memory for the tensors on %s\n", ggml_backend_name(backend_));
        return false;
    }
    for (const ggml_tensor * t : order_) {
        ggml_tensor * dup = copies_.at(t);
        if (dup->view_src == nullptr) {
            if (dup->buffer != nullptr) ggml_backend_tensor_copy(t, dup);
        } else if (dup->view_src->buffer != nullptr && dup->buffer == nullptr) {
            if (ggml_backend_view_init(dup) != GGML_STATUS_SUCCESS) return false;
        }
    }
    return true;
}

bool GraphCopier::make_graph() {
    const size_t size = std::max(size_t(graph_->size), copies_.size());
    copy_ = ggml_new_graph_custom(allocated_.get(), size, false);
    const auto map = [](const ggml_tensor * t, void * user_data) -> ggml_tensor * {
        const auto & copies = static_cast<GraphCopier *>(user_data)->copies_;
        const auto found = copies.find(t);
        return found != copies.end() ? found->second : nullptr;
    };
    return ggml_graph_copy_mapped(copy_, graph_, map, this) == GGML_STATUS_SUCCESS;
}

bool GraphCopier::run() {
    for (int i = 0; i < graph_->n_nodes; ++i) {
        if (graph_->nodes[i]->data != nullptr || ggml_nbytes(graph_->nodes[i]) == 0) continue;
        GGML_LOG_ERROR("graph copy: node '%s' has no storage\n", graph_->nodes[i]->name);
        return false;
    }
    if (!make_contexts()) return false;
    for (int i = 0; i < graph_->n_leafs; ++i) duplicate(graph_->leafs[i]);
    for (int i = 0; i < graph_->n_nodes; ++i) connect(graph_->nodes[i]);
    return place() && make_graph();
}

struct ggml_backend_graph_copy GraphCopier::release() {
    return {buffer_.release(), allocated_.release(), unallocated_.release(), copy_};
}

} // namespace
} // namespace ggml

extern "C" {

struct ggml_backend_graph_copy ggml_backend_graph_copy(ggml_backend_t backend, ggml_cgraph * graph) try {
    GGML_ASSERT(backend != nullptr && graph != nullptr);
    ggml::GraphCopier copier(backend, graph);
    if (copier.run()) return copier.release();
    return {};
} catch (const std::bad_alloc &) {
    GGML_LOG_ERROR("graph copy: out of memory\n");
    return {};
}

void ggml_backend_graph_copy_free(struct ggml_backend_graph_copy copy) {
    ggml_backend_buffer_free(copy.buffer);
    ggml_free(copy.ctx_allocated);
    ggml_free(copy.ctx_unallocated);
}

} // extern "C"
