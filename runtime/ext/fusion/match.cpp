#include "runtime/ext/fusion/match.h"

#include "runtime/ext/effects/effects.h"

namespace ggml::ext {

int FusionMatch::find(const ggml_tensor * tensor) const {
    const size_t slot = graph->visited.find(tensor);
    if (slot != TensorSet::npos) {
        const int position = positions[slot] - first;
        return positions[slot] >= first && position < n ? position : -1;
    }
    // Nodes that were put into the graph by hand are in no set.
    for (int i = 0; i < n; ++i) {
        if (node(i) == tensor) return i;
    }
    return -1;
}

const ggml_tensor * FusionMatch::retained_owner() const {
    const ggml_tensor * owner = storage_owner(final_node());
    return owner != final_node() && find(owner) >= 0 ? owner : nullptr;
}

} // namespace ggml::ext
