#include "runtime/ext/fusion/fusion.h"

#include "runtime/ext/effects/effects.h"
#include "runtime/ext/fusion/match.h"

#include <algorithm>
#include <vector>

namespace ggml::ext {
namespace {

// Views and in-place nodes have the tensor they show among their sources, or another view of it. One that
// does not reads storage that use counts know nothing about.
bool shows_without_edge(const ggml_tensor * tensor) {
    if (tensor->view_src == nullptr) return false;
    const ggml_tensor * owner = storage_owner(tensor);
    return std::none_of(tensor->src, tensor->src + GGML_MAX_SRC, [tensor, owner](const ggml_tensor * src) {
        return src != nullptr && src != tensor && storage_owner(src) == owner;
    });
}

constexpr bool (*kChecks[])(const FusionMatch & match, Verdict * why) = {
    all_computed_once,    all_pure,         no_intermediate_is_marked, final_write_is_allowed,
    storage_stays_inside, used_inside_only,
};

} // namespace

Legality::Legality(const ggml_cgraph * graph) : graph_(graph) {
    const TensorSet & known = graph->visited;
    for (size_t slot = 0; slot < known.capacity; ++slot) {
        const ggml_tensor * tensor = known.keys[slot];
        if (tensor != nullptr && shows_without_edge(tensor))
            shown_without_edge_.insert(storage_owner(tensor));
    }
    positions_.assign(known.capacity, -1);
    for (int i = 0; i < graph->n_nodes; ++i) {
        const size_t slot = known.find(graph->nodes[i]);
        if (slot == TensorSet::npos) continue; // its uses are unknown, which is refused anyway
        if (positions_[slot] >= 0) listed_twice_.insert(graph->nodes[i]);
        positions_[slot] = i;
    }
}

bool Legality::check(int first, int n, Verdict * why, std::vector<ggml_tensor *> * skipped) const {
    if (first < 0 || n < 2 || first > graph_->n_nodes || n > graph_->n_nodes - first) {
        return refuse(why, GGML_EXT_REASON_MATCH_LENGTH, first, "%d nodes from number %d on, of %d", n, first,
                      graph_->n_nodes);
    }
    const FusionMatch match{graph_, first, n, shown_without_edge_, listed_twice_, positions_};
    for (const auto check : kChecks) {
        if (!check(match, why)) return false;
    }
    if (skipped == nullptr) return true;
    const ggml_tensor * retained = match.retained_owner();
    for (int i = 0; i + 1 < n; ++i) {
        if (match.node(i) != retained) skipped->push_back(graph_->nodes[first + i]);
    }
    return true;
}

} // namespace ggml::ext
