// Cutting the node list into splits, and the copies of sources a split cannot read where they lie.
#include "runtime/sched/sched.h"

#include <algorithm>

namespace ggml::sched {
namespace {

ggml_tensor * make_copy(Scheduler & s, int32_t slot, int backend, int copy) {
    const ggml_tensor * src = s.tensors[slot].tensor;
    ggml_tensor * t = s.pool.make();
    t->type = src->type;
    std::copy(src->ne, src->ne + GGML_MAX_DIMS, t->ne);
    std::copy(src->nb, src->nb + GGML_MAX_DIMS, t->nb);
    ggml_format_name(t, "%s#%s#%d", ggml_backend_name(s.backends[size_t(backend)]), src->name, copy);
    return t;
}

int32_t & first_copy(Scheduler & s, int32_t slot, int backend) {
    return s.first_copy[size_t(slot) * size_t(s.n_backends) + size_t(backend)];
}

// With several copies the storage of each must survive the graphs in between.
void keep_for_later_graphs(ggml_tensor * t) {
    ggml_set_input(t);
    ggml_set_output(t);
}

// An input of the caller, kept n_copies times on its own backend. The caller's tensor itself is the current
// copy.
void multiply_input(Scheduler & s, int32_t slot) {
    const int home = s.tensors[slot].backend;
    if (first_copy(s, slot, home) >= 0) return;
    first_copy(s, slot, home) = int32_t(s.copies.size());
    for (int c = 0; c < s.n_copies; ++c) {
        ggml_tensor * t = c == s.cur_copy ? s.tensors[slot].tensor : make_copy(s, slot, home, c);
        keep_for_later_graphs(t);
        s.copies.push_back(t);
    }
    s.graph_inputs.push_back(slot);
}

// A source that has to be copied for this split, once for the whole graph.
void add_split_input(Scheduler & s, Split & split, int32_t slot) {
    if (first_copy(s, slot, split.backend) >= 0) return;
    first_copy(s, slot, split.backend) = int32_t(s.copies.size());
    for (int c = 0; c < s.n_copies; ++c) {
        ggml_tensor * t = make_copy(s, slot, split.backend, c);
        if (s.n_copies > 1) keep_for_later_graphs(t);
        s.copies.push_back(t);
    }
    s.split_inputs.push_back(slot);
    ++split.n_inputs;
}

bool needs_copy(Scheduler & s, int32_t slot, int backend) {
    return s.tensors[slot].backend != backend && !can_read(s, slot, backend);
}

// Copied weights are large: in a split of their own their storage is free again for the next ones.
bool brings_foreign_weights(Scheduler & s, int node, int backend) {
    for (const Edge & e : s.index.sources(node)) {
        const ggml_tensor * src = s.tensors[e.slot].tensor;
        if (src->buffer == nullptr) continue;
        if (ggml_backend_buffer_get_usage(src->buffer) != GGML_BACKEND_BUFFER_USAGE_WEIGHTS) continue;
        if (needs_copy(s, e.slot, backend)) return true;
    }
    return false;
}

int first_backend(const Scheduler & s, const ggml_cgraph * graph) {
    for (int i = 0; i < graph->n_nodes; ++i) {
        if (!is_view_op(graph->nodes[i]->op)) return s.tensors[s.index.nodes[size_t(i)]].backend;
    }
    return s.n_backends - 1;
}

void begin_split(Scheduler & s, int backend, int begin) {
    if (!s.splits.empty()) s.splits.back().end = begin;
    s.splits.push_back({backend, begin, begin, int(s.split_inputs.size()), 0, {}, -1});
}

} // namespace

void cut(Scheduler & s, ggml_cgraph * graph) {
    s.first_copy.assign(s.tensors.size() * size_t(s.n_backends), -1);
    if (graph->n_nodes == 0) return;
    begin_split(s, first_backend(s, graph), 0);
    for (int i = 0; i < graph->n_nodes; ++i) {
        ggml_tensor * node = graph->nodes[i];
        if (is_view_op(node->op)) continue;
        const int backend = s.tensors[s.index.nodes[size_t(i)]].backend;
        const Split & current = s.splits.back();
        if (backend != current.backend || (current.n_inputs > 0 && brings_foreign_weights(s, i, backend))) {
            begin_split(s, backend, i);
        }
        for (const Edge & e : s.index.sources(i)) {
            ggml_tensor * src = s.tensors[e.slot].tensor;
            if (s.n_copies > 1 && (src->flags & GGML_TENSOR_FLAG_INPUT) != 0) multiply_input(s, e.slot);
            if (!needs_copy(s, e.slot, backend)) continue;
            add_split_input(s, s.splits.back(), e.slot);
            s.rewired.push_back({node, e.j, src});
            node->src[e.j] = copy_of(s, e.slot, backend, s.cur_copy);
        }
    }
    s.splits.back().end = graph->n_nodes;
}

void restore_sources(Scheduler & s) {
    for (const Rewired & r : s.rewired) r.node->src[r.j] = r.original;
    s.rewired.clear();
}

} // namespace ggml::sched
