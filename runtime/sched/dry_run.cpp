#include "runtime/sched/dry_run.h"

#include "runtime/alloc/gallocr.h"

namespace ggml::sched {

void Unallocated::save(ggml_tensor * t) {
    for (; t != nullptr; t = t->view_src) saved_.push_back({t, t->flags, t->buffer, t->data});
}

Unallocated::Unallocated(Scheduler & s, ggml_cgraph * graph) {
    const bool ours = s.graph == graph && s.stage != Stage::kFresh;
    // Queued work may still look at the tensors that change for a while.
    if (ours) wait_for_all(s);
    for (int i = 0; i < graph->n_leafs; ++i) save(graph->leafs[i]);
    for (int i = 0; i < graph->n_nodes; ++i) {
        save(graph->nodes[i]);
        for (ggml_tensor * src : graph->nodes[i]->src) save(src);
    }
    if (!ours) return;
    for (const Rewired & r : s.rewired) save(r.original);
    edges_.reserve(s.rewired.size());
    // From here on nothing throws, so that all of it is undone.
    for (const Rewired & r : s.rewired) {
        edges_.push_back({r.node, r.j, r.node->src[r.j]});
        r.node->src[r.j] = r.original;
    }
    if (s.stage != Stage::kAllocated) return;
    for (const Saved & saved : saved_) {
        if (!alloc::gave_storage(s.galloc, saved.tensor)) continue;
        saved.tensor->buffer = nullptr;
        saved.tensor->data = nullptr;
    }
}

Unallocated::~Unallocated() {
    for (const Saved & saved : saved_) {
        saved.tensor->flags = saved.flags;
        saved.tensor->buffer = saved.buffer;
        saved.tensor->data = saved.data;
    }
    for (const Edge & edge : edges_) edge.node->src[edge.j] = edge.copy;
}

DryRun::DryRun(const Scheduler & like, ggml_cgraph * graph) : graph_(graph) {
    scratch.n_backends = like.n_backends;
    scratch.n_copies = like.n_copies;
    scratch.op_offload = like.op_offload;
    scratch.backends = like.backends;
    scratch.bufts = like.bufts;
    scratch.reads_buft_of = like.reads_buft_of;
    scratch.callback = like.callback;
    scratch.callback_data = like.callback_data;
    scratch.policy = like.policy;
    const bool allocated = like.stage == Stage::kAllocated;
    scratch.cur_copy = allocated ? like.cur_copy : like.next_copy;
    // What the caller has assigned. Of another graph nothing would be left when this one is allocated.
    if (like.stage == Stage::kFresh || like.graph == graph) scratch.tensors = like.tensors;
    scratch.logs = &logs;
    scratch.dry_run = true;
    scratch.galloc = ggml_gallocr_new_n(scratch.bufts.data(), scratch.n_backends);
    if (scratch.galloc == nullptr) throw std::bad_alloc();
}

bool DryRun::run() {
    if (!split(scratch, graph_)) return false;
    AllocGraph & alloc = scratch.alloc;
    ggml_gallocr_reserve_n_size(scratch.galloc, &alloc.graph, alloc.node_ids.data(), alloc.leaf_ids.data(),
                                tensor_bytes.data());
    return true;
}

} // namespace ggml::sched
