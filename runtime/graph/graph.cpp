// Making, copying and reading graphs. See build.cpp for how nodes get in.
#include "runtime/graph/graph.h"

#include "runtime/base/math.h"
#include "runtime/tensor/context.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <new>

namespace ggml {
namespace {

// Byte offsets of a graph's arrays in its arena object. Pointers first, so everything is aligned without
// padding.
struct GraphLayout {
    size_t capacity, nodes, leafs, keys, use_counts, bytes;
};

GraphLayout graph_layout(size_t size) {
    // Node numbers are int. The bound also keeps every product below far from overflow.
    if (size > size_t(INT_MAX))
        GGML_ABORT("a graph of %zu nodes is more than the limit of %d", size, INT_MAX);
    static_assert(sizeof(size_t) == 8 && sizeof(ggml_cgraph) % alignof(void *) == 0);
    GraphLayout layout;
    layout.capacity = TensorSet::capacity_for(2 * size);
    layout.nodes = sizeof(ggml_cgraph);
    layout.leafs = layout.nodes + size * sizeof(ggml_tensor *);
    layout.keys = layout.leafs + size * sizeof(ggml_tensor *);
    layout.use_counts = layout.keys + layout.capacity * sizeof(ggml_tensor *);
    layout.bytes = layout.use_counts + layout.capacity * sizeof(int32_t);
    return layout;
}

void refuse_gradients(const char * function, bool grads) {
    if (grads) GGML_ABORT("%s: gradients were requested, but training is not part of this library", function);
}

} // namespace

uint64_t next_graph_uid() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
}

ggml_cgraph graph_view(ggml_cgraph * graph, int first, int n) {
    GGML_ASSERT(first >= 0 && n >= 0 && n <= graph->n_nodes - first);
    ggml_cgraph view = *graph;
    view.size = 0; // nothing can be appended: the arrays are the original's
    view.nodes = graph->nodes + first;
    view.n_nodes = n;
    view.leafs = nullptr;
    view.n_leafs = 0;
    view.uid = 0;
    return view;
}

int32_t use_count(const ggml_cgraph * graph, const ggml_tensor * tensor) {
    const size_t slot = graph->visited.find(tensor);
    return slot == TensorSet::npos ? 0 : graph->use_counts[slot];
}

bool op_is_metadata_only(ggml_op op) {
    switch (op) {
    case GGML_OP_NONE:
    case GGML_OP_RESHAPE:
    case GGML_OP_VIEW:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE: return true;
    default: return false;
    }
}

} // namespace ggml

extern "C" {

size_t ggml_graph_overhead_custom(size_t size, bool grads) {
    ggml::refuse_gradients("ggml_graph_overhead_custom", grads);
    return ggml::arena_object_bytes(ggml::graph_layout(size).bytes);
}

size_t ggml_graph_overhead(void) { return ggml_graph_overhead_custom(GGML_DEFAULT_GRAPH_SIZE, false); }

ggml_cgraph * ggml_new_graph_custom(ggml_context * ctx, size_t size, bool grads) {
    ggml::refuse_gradients("ggml_new_graph_custom", grads);
    const ggml::GraphLayout layout = ggml::graph_layout(size);
    char * base = static_cast<char *>(ggml::arena_new(ctx, GGML_OBJECT_TYPE_GRAPH, layout.bytes));
    auto * graph = new (base) ggml_cgraph{};
    graph->size = int(size);
    graph->nodes = reinterpret_cast<ggml_tensor **>(base + layout.nodes);
    graph->leafs = reinterpret_cast<ggml_tensor **>(base + layout.leafs);
    graph->use_counts = reinterpret_cast<int32_t *>(base + layout.use_counts);
    graph->visited.capacity = layout.capacity;
    graph->visited.keys = reinterpret_cast<const ggml_tensor **>(base + layout.keys);
    ggml_graph_clear(graph);
    return graph;
}

ggml_cgraph * ggml_new_graph(ggml_context * ctx) {
    return ggml_new_graph_custom(ctx, GGML_DEFAULT_GRAPH_SIZE, false);
}

void ggml_graph_clear(ggml_cgraph * graph) {
    graph->n_nodes = 0;
    graph->n_leafs = 0;
    graph->uid = 0;
    graph->visited.clear();
    std::fill_n(graph->use_counts, graph->visited.capacity, 0);
}

void ggml_graph_cpy(ggml_cgraph * src, ggml_cgraph * dst) {
    if (src == dst) return;
    if (dst->size < src->n_nodes || dst->size < src->n_leafs ||
        dst->visited.capacity < src->visited.count()) {
        GGML_ABORT("ggml_graph_cpy: a graph of size %d cannot hold %d nodes, %d leafs and %zu known tensors",
                   dst->size, src->n_nodes, src->n_leafs, src->visited.count());
    }
    ggml_graph_clear(dst);
    dst->n_nodes = src->n_nodes;
    dst->n_leafs = src->n_leafs;
    std::copy_n(src->nodes, src->n_nodes, dst->nodes);
    std::copy_n(src->leafs, src->n_leafs, dst->leafs);
    for (size_t slot = 0; slot < src->visited.capacity; ++slot) {
        if (src->visited.keys[slot] == nullptr) continue;
        dst->use_counts[dst->visited.insert(src->visited.keys[slot])] = src->use_counts[slot];
    }
}

ggml_cgraph * ggml_graph_dup(ggml_context * ctx, ggml_cgraph * graph, bool force_grads) {
    ggml::refuse_gradients("ggml_graph_dup", force_grads);
    // A view has size 0 and knows more tensors than it has nodes.
    const size_t known = (graph->visited.count() + 1) / 2;
    const size_t size = std::max({size_t(graph->size), size_t(graph->n_nodes), known});
    ggml_cgraph * result = ggml_new_graph_custom(ctx, size, false);
    ggml_graph_cpy(graph, result);
    return result;
}

int ggml_graph_size(ggml_cgraph * graph) { return graph->size; }

ggml_tensor * ggml_graph_node(ggml_cgraph * graph, int i) {
    const int index = i < 0 ? graph->n_nodes + i : i;
    if (index < 0 || index >= graph->n_nodes) {
        GGML_ABORT("ggml_graph_node: node %d of a graph with %d nodes", i, graph->n_nodes);
    }
    return graph->nodes[index];
}

ggml_tensor ** ggml_graph_nodes(ggml_cgraph * graph) { return graph->nodes; }

int ggml_graph_n_nodes(ggml_cgraph * graph) { return graph->n_nodes; }

// Records no consumers: whoever assembles a graph node by node knows only part of them (see
// ggml_graph_copy_use_counts), and a count that is too low would let a fusion drop a result still needed.
void ggml_graph_add_node(ggml_cgraph * graph, ggml_tensor * tensor) {
    if (graph->n_nodes >= graph->size || graph->visited.insert(tensor) == ggml::TensorSet::npos) {
        GGML_ABORT("ggml_graph_add_node: graph of size %d is full, no room for '%s' (%s)", graph->size,
                   tensor->name, ggml_op_name(tensor->op));
    }
    graph->nodes[graph->n_nodes++] = tensor;
    graph->uid = 0;
}

ggml_tensor * ggml_graph_get_tensor(const ggml_cgraph * graph, const char * name) {
    const auto named = [name](const ggml_tensor * t) { return std::strcmp(t->name, name) == 0; };
    ggml_tensor ** leafs_end = graph->leafs + graph->n_leafs;
    ggml_tensor ** nodes_end = graph->nodes + graph->n_nodes;
    if (auto leaf = std::find_if(graph->leafs, leafs_end, named); leaf != leafs_end) return *leaf;
    if (auto node = std::find_if(graph->nodes, nodes_end, named); node != nodes_end) return *node;
    return nullptr;
}

} // extern "C"
