#include "runtime/tools/parity_graph.h"
#include "runtime/graph/graph.h"

#include "runtime/ext/effects/effects.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace ggml::tools {
namespace {

// Sources as the caller built them, which the scheduler has replaced by copies where it had to.
class Edges {
  public:
    explicit Edges(const sched::Scheduler & s) {
        for (const sched::Rewired & r : s.rewired) originals_[{r.node, r.j}] = r.original;
    }
    ggml_tensor * source(const ggml_tensor * node, int j) const {
        const auto found = originals_.find({node, j});
        return found != originals_.end() ? found->second : node->src[j];
    }

  private:
    std::map<std::pair<const ggml_tensor *, int>, ggml_tensor *> originals_;
};

// Storage of the scheduler's allocator, or none at all.
bool is_schedulers(const ggml_tensor * owner) {
    if (owner->buffer == nullptr) return owner->data == nullptr;
    return ggml_backend_buffer_get_usage(owner->buffer) == GGML_BACKEND_BUFFER_USAGE_COMPUTE;
}

} // namespace

// Metadata and the place in the storage shown; edges follow when everything exists.
void GraphTwin::twin(const ggml_tensor * t) {
    if (twins_.count(t) != 0) return;
    if (t->view_src != nullptr) twin(t->view_src);
    ggml_tensor * made = ggml_new_tensor(ctx_.get(), t->type, GGML_MAX_DIMS, t->ne);
    std::copy(t->nb, t->nb + GGML_MAX_DIMS, made->nb);
    std::copy(std::begin(t->op_params), std::end(t->op_params), made->op_params);
    made->op = t->op;
    made->flags = t->flags;
    made->view_src = t->view_src != nullptr ? twins_.at(t->view_src) : nullptr;
    made->view_offs = t->view_offs;
    ggml_set_name(made, t->name);
    twins_.emplace(t, made);
}

bool GraphTwin::place(const ggml_tensor * t, ggml_tensor * made) {
    // Storage of a context has no buffer.
    ggml_backend_buffer_type_t buft =
        t->buffer != nullptr ? ggml_backend_buffer_get_type(t->buffer) : ggml_backend_cpu_buffer_type();
    const size_t bytes = ggml_backend_buft_get_alloc_size(buft, made);
    ggml_backend_buffer_ptr buffer(ggml_backend_buft_alloc_buffer(buft, bytes));
    if (buffer == nullptr) return false;
    if (t->buffer != nullptr)
        ggml_backend_buffer_set_usage(buffer.get(), ggml_backend_buffer_get_usage(t->buffer));
    buffers_.push_back(std::move(buffer));
    return ggml_backend_tensor_alloc(buffers_.back().get(), made,
                                     ggml_backend_buffer_get_base(buffers_.back().get())) ==
           GGML_STATUS_SUCCESS;
}

void GraphTwin::connect(const sched::Scheduler & s, const ggml_cgraph * graph) {
    const Edges edges(s);
    for (int i = 0; i < graph->n_nodes; ++i) {
        const ggml_tensor * node = graph->nodes[i];
        for (int j = 0; j < GGML_MAX_SRC; ++j) {
            const ggml_tensor * src = edges.source(node, j);
            if (src == nullptr) continue;
            twin(src);
            twins_.at(node)->src[j] = twins_.at(src);
        }
    }
}

// Node after node, so that each brings nothing but itself and leafs, and the order stays.
bool GraphTwin::list(const ggml_cgraph * graph) {
    graph_ = ggml_new_graph_custom(ctx_.get(), std::max(size_t(graph->size), twins_.size()), false);
    for (int i = 0; i < graph->n_nodes; ++i) {
        build_forward(graph_, twins_.at(graph->nodes[i]));
        if (graph_->n_nodes != i + 1 || graph_->nodes[i] != twins_.at(graph->nodes[i])) return false;
    }
    // Building marks all of them as wanted.
    for (const auto & [t, made] : twins_) made->flags = t->flags;
    return true;
}

bool GraphTwin::build(const sched::Scheduler & s, const ggml_cgraph * graph, const LeafContents & leafs) {
    // Each node may bring its sources and the owners of their storage.
    size_t most = 2 * size_t(graph->n_leafs) + 2 * size_t(graph->n_nodes);
    for (int i = 0; i < graph->n_nodes; ++i) {
        const auto & src = graph->nodes[i]->src;
        most +=
            2 * size_t(std::count_if(std::begin(src), std::end(src), [](auto * t) { return t != nullptr; }));
    }
    const size_t graph_size = std::max(size_t(graph->size), most);
    ctx_.reset(
        ggml_init({most * ggml_tensor_overhead() + ggml_graph_overhead_custom(graph_size, false), nullptr,
                   /*no_alloc=*/true}));
    if (ctx_ == nullptr) return false;
    for (int i = 0; i < graph->n_leafs; ++i) twin(graph->leafs[i]);
    for (int i = 0; i < graph->n_nodes; ++i) twin(graph->nodes[i]);
    connect(s, graph);
    for (const auto & [t, made] : twins_) {
        if (t->view_src != nullptr || is_schedulers(t)) continue;
        if (t->op == GGML_OP_NONE && !leafs.holds(t)) {
            made->buffer = t->buffer;
            made->data = t->data;
            made->extra = t->extra;
        } else if (!place(t, made)) {
            return false;
        }
    }
    return list(graph);
}

std::vector<int> result_nodes(const sched::Scheduler & s, const ggml_cgraph * graph) {
    const Edges edges(s);
    std::unordered_set<const ggml_tensor *> read;
    for (int i = 0; i < graph->n_nodes; ++i) {
        for (int j = 0; j < GGML_MAX_SRC; ++j) read.insert(edges.source(graph->nodes[i], j));
    }
    std::vector<int> results;
    for (int i = 0; i < graph->n_nodes; ++i) {
        const ggml_tensor * node = graph->nodes[i];
        if ((node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0 || ggml_is_empty(node)) continue;
        if ((node->flags & GGML_TENSOR_FLAG_OUTPUT) != 0 || read.count(node) == 0) results.push_back(i);
    }
    return results;
}

} // namespace ggml::tools
