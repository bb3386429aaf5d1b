// Which consecutive nodes may become one step. Promise: legality lives here only. A match that is accepted
// can be computed without storage for the nodes in `skipped` and nobody can tell from any tensor that is
// still to be read. A matcher answers for mathematics, types, shapes and hardware; this room for everything
// else.
#pragma once

#include "ggml-ext.h"
#include "runtime/ext/verdict/verdict.h"

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace ggml::ext {

class Legality {
  public:
    // graph: the nodes of one device, a view of (or itself) the whole graph, whose use counts and visited
    // tensors it shares. Must outlive this object and not change meanwhile.
    explicit Legality(const ggml_cgraph * graph);

    // Nodes [first, first + n) as one step. Appends the tensors that need no storage to `skipped` when it is
    // not null and the answer is yes.
    bool check(int first, int n, Verdict * why, std::vector<ggml_tensor *> * skipped) const;

  private:
    const ggml_cgraph * graph_;
    std::unordered_set<const ggml_tensor *>
        shown_without_edge_; // owners that tensors show without reading them
    std::unordered_set<const ggml_tensor *> listed_twice_;
    std::vector<int32_t> positions_; // of nodes, by slot of the graph's visited set; -1: no node
};

} // namespace ggml::ext
