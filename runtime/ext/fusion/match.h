// A match as the checks see it, and the checks, each in the file of its name. All of them are questions about
// metadata; the first that says no ends the matter, and `storage` and later ones rely on those before.
#pragma once

#include "ggml-ext.h"
#include "runtime/ext/verdict/verdict.h"
#include "runtime/graph/graph.h"

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace ggml::ext {

using TensorLookup = std::unordered_set<const ggml_tensor *>;

// Nodes [first, first + n) of the graph, n >= 2. Positions count from the first node of the match. Every node
// but the final one is an intermediate.
struct FusionMatch {
    const ggml_cgraph * graph;
    int first, n;
    const TensorLookup & shown_without_edge;
    const TensorLookup & listed_twice;
    const std::vector<int32_t> & positions; // in the graph, by slot of the visited set; -1: no node of it

    const ggml_tensor * node(int position) const { return graph->nodes[first + position]; }
    const ggml_tensor * final_node() const { return node(n - 1); }
    int find(const ggml_tensor * tensor) const; // position, -1: outside

    // The earlier node of the match that owns the storage the final one writes; null when the final node owns
    // its storage or writes outside. It keeps its storage, unlike the other intermediates.
    const ggml_tensor * retained_owner() const;
};

bool all_computed_once(const FusionMatch & match, Verdict * why);
bool all_pure(const FusionMatch & match, Verdict * why);
bool no_intermediate_is_marked(const FusionMatch & match, Verdict * why);
bool final_write_is_allowed(const FusionMatch & match, Verdict * why);
bool storage_stays_inside(const FusionMatch & match, Verdict * why);
bool used_inside_only(const FusionMatch & match, Verdict * why);

} // namespace ggml::ext
