#include "ops/common/chain.h"

#include <algorithm>

namespace sd {
namespace {

// Number of `node` in the graph, looked for from `end` down; -1 when it is not among those nodes.
int number_before(ggml_cgraph * graph, const ggml_tensor * node, int end) {
    for (int i = end - 1; i >= 0; --i) {
        if (ggml_graph_node(graph, i) == node) return i;
    }
    return -1;
}

} // namespace

void Chain::prepend(const ggml_tensor * node) {
    std::copy_backward(nodes, nodes + n, nodes + n + 1);
    nodes[0] = node;
    ++n;
}

bool Chain::has(const ggml_tensor * t) const {
    for (; t != nullptr; t = t->view_src) {
        if (std::find(nodes, nodes + n, t) != nodes + n) return true;
    }
    return false;
}

bool Chain::is_at(const ggml_cgraph * graph, int first) const {
    auto * g = const_cast<ggml_cgraph *>(graph);
    if (n > ggml_graph_n_nodes(g) - first) return false;
    for (int i = 0; i < n; ++i) {
        if (ggml_graph_node(g, first + i) != nodes[i]) return false;
    }
    return true;
}

void bring_together(ggml_cgraph * graph, const Chain & chain, int last) {
    int number[Chain::kMax] = {};
    number[chain.n - 1] = last;
    for (int i = chain.n - 2; i >= 0; --i) {
        number[i] = number_before(graph, chain.nodes[i], number[i + 1]);
        if (number[i] < 0) return;
    }
    // The nodes up to i lie side by side and follow to the next one.
    int first = number[0];
    for (int i = 0; i + 1 < chain.n; ++i) {
        const int after = number[i + 1] - 1;
        if (ggml_ext_graph_delay(graph, first, i + 1, after) != GGML_EXT_SUCCESS) return;
        first = after - i;
    }
}

} // namespace sd
