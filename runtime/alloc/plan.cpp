#include "runtime/alloc/plan.h"

#include "runtime/alloc/block_allocator.h"
#include "runtime/alloc/lifetimes.h"
#include "runtime/base/log.h"
#include "runtime/ops/inplace.h"

#include <algorithm>

namespace ggml::alloc {
namespace {

// Sources that may be overwritten. Only for these operators is a source other than the first read strictly
// element by element: ADD_ID gathers rows of its second source, SOFT_MAX repeats its mask.
int n_in_place_sources(ggml_op op) {
    switch (op) {
    case GGML_OP_ADD:
    case GGML_OP_SUB:
    case GGML_OP_MUL:
    case GGML_OP_DIV: return 2;
    default: return 1;
    }
}

int view_depth(const ggml_tensor * t) {
    int depth = 0;
    for (; t->view_src != nullptr; t = t->view_src) ++depth;
    return depth;
}

class Planner {
  public:
    Planner(const PlanRequest & request, GraphPlan & plan)
        : request_(request), plan_(plan), tensors_(request.graph),
          lifetimes_(find_lifetimes(tensors_, request.skipped)) {}

    bool run();

  private:
    void record_topology();
    void classify();
    void make_allocators();
    bool place_what_exists_before_the_run();
    bool place_node(int i);
    bool take_over_source(int i, Id id);
    bool reads_once(int i, Id owner) const;
    bool place(Id id, int buffer, int step);
    void schedule_release(Id id, int step);
    void release_after(int i);
    bool checked_buffer(int buffer, const ggml_tensor * t) const;

    TensorPlan & of(Id id) { return plan_.tensors[size_t(id)]; }
    const BufferSpec & spec(int buffer) const { return request_.specs[size_t(buffer)]; }
    BlockAllocator & memory(int buffer) { return allocators_[size_t(spec(buffer).memory)]; }
    int node_buffer(int i) const { return request_.node_buffers != nullptr ? request_.node_buffers[i] : 0; }
    int leaf_buffer(int i) const { return request_.leaf_buffers != nullptr ? request_.leaf_buffers[i] : 0; }

    const PlanRequest & request_;
    GraphPlan & plan_;
    GraphTensors tensors_;
    Lifetimes lifetimes_;
    std::vector<BlockAllocator> allocators_;
    std::vector<bool> alive_;          // by id: holds a block of its own now
    std::vector<Id> first_to_release_; // by node: list of placed tensors whose last user it is ...
    std::vector<Id> next_to_release_;  // ... linked by id
};

void Planner::record_topology() {
    const ggml_cgraph * graph = request_.graph;
    plan_.layout = tensors_.layout();
    for (int i = 0; i < graph->n_leafs; ++i) plan_.leafs.push_back(tensors_.find(graph->leafs[i]));
    for (int i = 0; i < graph->n_nodes; ++i) {
        plan_.nodes.push_back(tensors_.node(i));
        plan_.ops.push_back(graph->nodes[i]->op);
        for (const ggml_tensor * src : graph->nodes[i]->src) {
            if (src != nullptr) plan_.edges.push_back(tensors_.find(src));
        }
        plan_.edges_end.push_back(uint32_t(plan_.edges.size()));
    }
}

void Planner::classify() {
    plan_.tensors.resize(plan_.layout.n_ids());
    for (Id id = 0; id < Id(plan_.tensors.size()); ++id) {
        const ggml_tensor * t = tensors_.tensor(id);
        if (tensors_.find(t) != id) continue;
        TensorPlan & p = of(id);
        p.flags = planned_flags(t);
        if (lifetimes_.skipped[size_t(id)]) {
            p.storage = Storage::kSkipped;
        } else if (t->view_src != nullptr) {
            p.storage = Storage::kView;
            p.shown = tensors_.find(t->view_src);
            plan_.views.push_back(id);
        } else {
            p.storage = has_storage(t) ? Storage::kOutside : Storage::kPlaced;
            const bool output = (p.flags & GGML_TENSOR_FLAG_OUTPUT) != 0;
            if (p.storage == Storage::kPlaced && output && plan_.layout.is_leaf(id))
                plan_.permanent.push_back(id);
        }
    }
    // Storage is given in this order, and a view needs what it shows first.
    std::stable_sort(plan_.views.begin(), plan_.views.end(), [this](Id a, Id b) {
        return view_depth(tensors_.tensor(a)) < view_depth(tensors_.tensor(b));
    });
}

void Planner::make_allocators() {
    for (const BufferSpec & s : request_.specs) allocators_.emplace_back(s.alignment, s.max_chunk);
    alive_.assign(plan_.tensors.size(), false);
    first_to_release_.assign(size_t(request_.graph->n_nodes), kNoId);
    next_to_release_.assign(plan_.tensors.size(), kNoId);
}

bool Planner::checked_buffer(int buffer, const ggml_tensor * t) const {
    if (buffer >= 0 && size_t(buffer) < request_.specs.size()) return true;
    GGML_LOG_ERROR("graph allocation: tensor '%s' has buffer id %d of %zu\n", t->name, buffer,
                   request_.specs.size());
    return false;
}

void Planner::schedule_release(Id id, int step) {
    const int last = lifetimes_.storage_last[size_t(id)];
    alive_[size_t(id)] = true;
    if (last == kForever) return;
    Id & first = first_to_release_[size_t(std::max(last, step))];
    next_to_release_[size_t(id)] = first;
    first = id;
}

// step: the node before which the block is needed.
bool Planner::place(Id id, int buffer, int step) {
    TensorPlan & p = of(id);
    if (p.storage != Storage::kPlaced || alive_[size_t(id)]) return true;
    const ggml_tensor * t = tensors_.tensor(id);
    if (!checked_buffer(buffer, t)) return false;
    BlockAddress at;
    const size_t bytes = spec(buffer).bytes_of(t);
    if (!memory(buffer).block_bytes(bytes, p.bytes) || !memory(buffer).allocate(bytes, at)) {
        GGML_LOG_ERROR("graph allocation: tensor '%s' of %zu bytes is too large\n", t->name, bytes);
        return false;
    }
    p.buffer = int16_t(buffer);
    p.chunk = at.chunk;
    p.offset = at.offset;
    plan_.placed.push_back(id);
    schedule_release(id, step);
    return true;
}

// Leafs, inputs and tensors made by an earlier part of a larger graph hold data before the first node runs,
// so none of them may reuse a block.
bool Planner::place_what_exists_before_the_run() {
    for (int i = 0; i < request_.graph->n_leafs; ++i) {
        if (!place(plan_.leafs[size_t(i)], leaf_buffer(i), 0)) return false;
    }
    for (int i = 0; i < request_.graph->n_nodes; ++i) {
        const Id id = plan_.nodes[size_t(i)];
        if ((of(id).flags & GGML_TENSOR_FLAG_INPUT) != 0 && !place(id, node_buffer(i), 0)) return false;
    }
    for (Id id = plan_.layout.node_id(plan_.layout.n_nodes); id < Id(plan_.tensors.size()); ++id) {
        if (!place(id, node_buffer(plan_.layout.place_of(id).node), 0)) return false;
    }
    return true;
}

bool Planner::reads_once(int i, Id owner) const {
    int reads = 0;
    for (const ggml_tensor * src : request_.graph->nodes[i]->src) {
        if (src == nullptr) continue;
        const Id id = tensors_.find(src);
        // What a skipped source stands for is read by this node in an order nobody here knows.
        if (lifetimes_.skipped[size_t(id)]) return false;
        reads += tensors_.owner(id) == owner;
    }
    return reads == 1;
}

bool Planner::take_over_source(int i, Id id) {
    const ggml_tensor * node = request_.graph->nodes[i];
    const int buffer = node_buffer(i);
    if (!op_can_inplace(node->op) || !checked_buffer(buffer, node)) return false;
    for (int j = 0; j < n_in_place_sources(node->op); ++j) {
        const ggml_tensor * src = node->src[j];
        if (src == nullptr || !same_layout(node, src)) continue;
        if (src->view_src != nullptr && src->view_offs != 0) continue;
        const Id owner = tensors_.owner(tensors_.find(src));
        if (owner == kNoId || !alive_[size_t(owner)] || lifetimes_.storage_last[size_t(owner)] != i) continue;
        TensorPlan & from = of(owner);
        size_t bytes = 0;
        if (spec(from.buffer).memory != spec(buffer).memory || !reads_once(i, owner) ||
            !memory(buffer).block_bytes(spec(buffer).bytes_of(node), bytes) || bytes > from.bytes) {
            continue;
        }
        TensorPlan & to = of(id);
        to.buffer = int16_t(buffer);
        to.chunk = from.chunk;
        to.offset = from.offset;
        to.bytes = bytes;
        to.in_place_of = tensors_.find(src);
        alive_[size_t(owner)] = false;
        plan_.placed.push_back(id);
        if (from.bytes > bytes) memory(buffer).release({from.chunk, from.offset + bytes}, from.bytes - bytes);
        schedule_release(id, i);
        return true;
    }
    return false;
}

bool Planner::place_node(int i) {
    const Id id = plan_.nodes[size_t(i)];
    if (of(id).storage != Storage::kPlaced || alive_[size_t(id)]) return true;
    return take_over_source(i, id) || place(id, node_buffer(i), i);
}

void Planner::release_after(int i) {
    for (Id id = first_to_release_[size_t(i)]; id != kNoId; id = next_to_release_[size_t(id)]) {
        if (!alive_[size_t(id)]) continue; // its block went on to the node
        alive_[size_t(id)] = false;
        memory(of(id).buffer).release({of(id).chunk, of(id).offset}, of(id).bytes);
    }
}

bool Planner::run() {
    record_topology();
    classify();
    make_allocators();
    if (!place_what_exists_before_the_run()) return false;
    for (int i = 0; i < request_.graph->n_nodes; ++i) {
        if (!place_node(i)) return false;
        release_after(i);
    }
    for (size_t b = 0; b < request_.specs.size(); ++b) {
        const bool first = size_t(request_.specs[b].memory) == b;
        plan_.chunk_sizes.push_back(first ? allocators_[b].chunk_sizes() : std::vector<size_t>());
    }
    return true;
}

} // namespace

bool same_layout(const ggml_tensor * a, const ggml_tensor * b) {
    return a->type == b->type && std::equal(a->ne, a->ne + GGML_MAX_DIMS, b->ne) &&
           std::equal(a->nb, a->nb + GGML_MAX_DIMS, b->nb);
}

bool make_plan(const PlanRequest & request, GraphPlan & plan) {
    plan = {};
    return Planner(request, plan).run();
}

} // namespace ggml::alloc
