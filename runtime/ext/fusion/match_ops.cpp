// The usual first question of a matcher.
#include "runtime/ext/verdict/verdict.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/extension_node.h"

namespace ggml::ext {
namespace {

// What a function of the caller computes is not known, so that it matches nothing.
bool has_op(const ggml_tensor * node, ggml_op op) {
    return node->op == op && (op != GGML_OP_CUSTOM || extension_op(node) != nullptr);
}

// Planning asks each rule about most nodes of a graph, so words are looked for only when somebody reads them.
int matched(ggml_ext_why_t why, const ggml_cgraph * graph, int first, int n, ggml_op wanted) {
    if (why == nullptr) return n;
    const int at = first + n;
    const char * found = at < graph->n_nodes ? ggml_op_desc(graph->nodes[at]) : "behind the last one";
    refuse(why, GGML_EXT_REASON_NO_MATCH, at, "node %d is %s, not %s", at, found, ggml_op_name(wanted));
    why->matched = n;
    return n;
}

} // namespace
} // namespace ggml::ext

int ggml_ext_match_ops(const ggml_cgraph * graph, int first, const ggml_op * ops, int n_ops,
                       ggml_ext_why_t why) {
    using namespace ggml::ext;
    if (graph == nullptr || ops == nullptr || first < 0) {
        refuse(why, GGML_EXT_REASON_NULL_ARGUMENT, -1,
               "ggml_ext_match_ops: no graph, no operators or node %d", first);
        return 0;
    }
    for (int i = 0; i < n_ops; ++i) {
        const bool is_behind = first >= graph->n_nodes - i;
        if (is_behind || !has_op(graph->nodes[first + i], ops[i]))
            return matched(why, graph, first, i, ops[i]);
    }
    return n_ops > 0 ? n_ops : 0;
}
