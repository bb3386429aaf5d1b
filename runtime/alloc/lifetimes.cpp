#include "runtime/alloc/lifetimes.h"

#include <algorithm>

namespace ggml::alloc {
namespace {

std::vector<bool> find_skipped(const GraphTensors & tensors, const TensorNumbers * set) {
    std::vector<bool> skipped(tensors.layout().n_ids(), false);
    if (set == nullptr) return skipped;
    const auto listed = [set](const ggml_tensor * t) { return set->find(t) != TensorNumbers::kAbsent; };
    for (size_t id = 0; id < skipped.size(); ++id) {
        const ggml_tensor * t = tensors.tensor(Id(id));
        skipped[id] = listed(t) || listed(storage_owner(t));
    }
    return skipped;
}

// Last node that reads the tensor itself. A skipped node is not executed where it stands: its sources are
// read by whatever executes its consumers, so a read of a skipped node is a read of all its sources.
std::vector<int> find_last_reads(const GraphTensors & tensors, const std::vector<bool> & skipped) {
    std::vector<int> last(skipped.size(), kNeverUsed);
    const ggml_cgraph * graph = tensors.graph();
    for (int i = graph->n_nodes - 1; i >= 0; --i) {
        const Id id = tensors.node(i);
        int when = i;
        if (skipped[size_t(id)]) {
            const int used = last[size_t(id)];
            when = used == kNeverUsed ? kForever : std::max(used, i);
        }
        for (const ggml_tensor * src : graph->nodes[i]->src) {
            // A type conversion names itself as its destination, which makes it no reader of itself.
            if (src == nullptr || src == graph->nodes[i]) continue;
            int & seen = last[size_t(tensors.find(src))];
            seen = std::max(seen, when);
        }
    }
    return last;
}

// A node with operator NONE that shows other storage is a reader put there to keep it alive up to this point,
// not a result.
bool is_reader_only(const GraphTensors & tensors, Id id) {
    const ggml_tensor * t = tensors.tensor(id);
    return tensors.layout().is_node(id) && t->op == GGML_OP_NONE && t->view_src != nullptr;
}

} // namespace

Lifetimes find_lifetimes(const GraphTensors & tensors, const TensorNumbers * skipped_set) {
    Lifetimes result;
    result.skipped = find_skipped(tensors, skipped_set);
    const std::vector<int> reads = find_last_reads(tensors, result.skipped);
    result.storage_last.assign(reads.size(), kNeverUsed);
    for (size_t i = 0; i < reads.size(); ++i) {
        const Id id = Id(i);
        const Id owner = tensors.owner(id);
        if (owner == kNoId) continue;
        int needed = reads[i];
        // What nobody in the graph reads is a result: ggml's callers fetch it without marking it.
        if (needed == kNeverUsed && tensors.find(tensors.tensor(id)) == id) needed = kForever;
        if (is_reader_only(tensors, id)) needed = std::max(reads[i], id - tensors.layout().n_leafs);
        if ((tensors.tensor(id)->flags & GGML_TENSOR_FLAG_OUTPUT) != 0) needed = kForever;
        // A view that an operator writes through counts as a use of the owner even if nobody reads the view.
        if (tensors.layout().is_node(id)) needed = std::max(needed, id - tensors.layout().n_leafs);
        int & last = result.storage_last[size_t(owner)];
        last = std::max(last, needed);
    }
    return result;
}

} // namespace ggml::alloc
