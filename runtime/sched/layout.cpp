// The graph as the allocator must see it: copies appear where they are filled, so that their storage is taken
// no earlier, and each copied tensor has a reader at that point, so that its storage is given back no
// earlier.
#include "runtime/sched/sched.h"

#include "runtime/backend/interface.h"
#include "runtime/base/trace.h"

#include <algorithm>

namespace ggml::sched {
namespace {

void add_node(AllocGraph & alloc, ggml_tensor * t, int backend) {
    alloc.nodes.push_back(t);
    alloc.node_ids.push_back(backend);
}

void add_leaf(AllocGraph & alloc, ggml_tensor * t, int backend) {
    alloc.leafs.push_back(t);
    alloc.leaf_ids.push_back(backend);
}

// A view that reads the tensor and does nothing else.
ggml_tensor * make_reader(Scheduler & s, ggml_tensor * t) {
    ggml_tensor * reader = s.pool.make();
    reader->type = t->type;
    std::copy(t->ne, t->ne + GGML_MAX_DIMS, reader->ne);
    std::copy(t->nb, t->nb + GGML_MAX_DIMS, reader->nb);
    reader->op = GGML_OP_VIEW;
    reader->src[0] = t;
    reader->view_src = t->view_src != nullptr ? t->view_src : t;
    reader->view_offs = t->view_src != nullptr ? t->view_offs : 0;
    ggml_format_name(reader, "%s (copied)", t->name);
    return reader;
}

void lay_out_split(Scheduler & s, const Split & split) {
    for (int k = 0; k < split.n_inputs; ++k) {
        const int32_t slot = s.split_inputs[size_t(split.first_input + k)];
        ggml_tensor * input = s.tensors[slot].tensor;
        if (buffer_of(input) == nullptr) add_node(s.alloc, make_reader(s, input), s.tensors[slot].backend);
        add_node(s.alloc, copy_of(s, slot, split.backend, s.cur_copy), split.backend);
    }
    for (int i = 0; i < split.graph.n_nodes; ++i) {
        const int32_t slot = s.tensors.find(split.graph.nodes[i]);
        add_node(s.alloc, split.graph.nodes[i], s.tensors[slot].backend);
    }
}

// All copies of everything that exists n_copies times, first, so that they have the same place in every
// graph.
void lay_out_copies(Scheduler & s) {
    const auto add_copies = [&](int32_t slot, int backend) {
        for (int c = 0; c < s.n_copies; ++c) add_leaf(s.alloc, copy_of(s, slot, backend, c), backend);
    };
    for (int32_t slot : s.graph_inputs) add_copies(slot, s.tensors[slot].backend);
    for (const Split & split : s.splits) {
        for (int k = 0; k < split.n_inputs; ++k) {
            add_copies(s.split_inputs[size_t(split.first_input + k)], split.backend);
        }
    }
}

bool assign_traced(Scheduler & s, const ggml_cgraph * graph) {
    const TraceScope scope("plan", "assign");
    return assign(s, graph);
}

} // namespace

void lay_out(Scheduler & s, ggml_cgraph * graph) {
    AllocGraph & alloc = s.alloc;
    alloc.nodes.clear();
    alloc.leafs.clear();
    alloc.node_ids.clear();
    alloc.leaf_ids.clear();
    for (const Split & split : s.splits) lay_out_split(s, split);
    if (s.n_copies > 1) lay_out_copies(s);
    alloc.n_copies = alloc.leafs.size();
    for (int i = 0; i < graph->n_leafs; ++i) {
        add_leaf(alloc, graph->leafs[i], s.tensors[s.index.leafs[size_t(i)]].backend);
    }
    alloc.graph = {};
    alloc.graph.n_nodes = int(alloc.nodes.size());
    alloc.graph.n_leafs = int(alloc.leafs.size());
    alloc.graph.size = std::max(alloc.graph.n_nodes, alloc.graph.n_leafs);
    alloc.graph.nodes = alloc.nodes.data();
    alloc.graph.leafs = alloc.leafs.data();
}

bool split(Scheduler & s, ggml_cgraph * graph) {
    const TraceScope scope("plan", [&]() -> TraceWords {
        return {"plan graph", nullptr, nullptr, graph->n_nodes};
    });
    // The same graph cut a second time: start from its own sources. Another graph: the old one may be gone.
    if (s.stage != Stage::kFresh) {
        if (s.graph == graph) {
            restore_sources(s);
        } else {
            reset(s);
        }
    }
    drop_plans(s);
    s.pool.reset();
    s.copies.clear();
    s.splits.clear();
    s.split_inputs.clear();
    s.graph_inputs.clear();
    s.graph = graph;
    s.stage = Stage::kSplit;
    index_graph(s, graph);
    group_writers(s, graph);
    if (!assign_traced(s, graph)) return false;
    cut(s, graph);
    if (!make_plans(s, graph)) return false;
    lay_out(s, graph);
    return true;
}

} // namespace ggml::sched
