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

int matched(ggml_ext_why_t why, int first, int n, const char * found, const char * wanted) {
    refuse(why, GGML_EXT_REASON_NO_MATCH, first + n, "node %d is %s, not %s", first + n, found, wanted);
    if (why != nullptr) why->matched = n;
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
        const char * wanted = ggml_op_name(ops[i]);
        if (first >= graph->n_nodes - i) return matched(why, first, i, "behind the last one", wanted);
        const ggml_tensor * node = graph->nodes[first + i];
        if (!has_op(node, ops[i])) return matched(why, first, i, ggml_op_desc(node), wanted);
    }
    return n_ops > 0 ? n_ops : 0;
}
