// Chains of nodes that fusion rules compute as one step.
#pragma once

#include "ggml-ext.h"

namespace sd {

// Nodes in execution order, each a source of the next; the last one's result is what is left.
struct Chain {
    static constexpr int kMax = 4;
    const ggml_tensor * nodes[kMax];
    int n;

    const ggml_tensor * last() const { return nodes[n - 1]; }
    // Puts a node ahead of the others.
    void prepend(const ggml_tensor * node);
    // Whether t is one of the nodes or a view of one: readers of that kind are not told by counting readers.
    bool has(const ggml_tensor * t) const;
    // Whether nodes [first, first + n) of the graph are these.
    bool is_at(const ggml_cgraph * graph, int first) const;
};

// For `optimize`: what stands between the nodes of the chain, whose last one is number `last` of the graph,
// often does not need them, such as a weight computed as 1 + scale, or views of a table of scales. It goes
// ahead of them. What may not move stays, and the chain is not fused.
void bring_together(ggml_cgraph * graph, const Chain & chain, int last);

} // namespace sd
