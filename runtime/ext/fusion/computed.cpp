// Every node of the match runs code in this graph, once, or is a view of something that does.
#include "runtime/ext/effects/effects.h"
#include "runtime/ext/fusion/match.h"

namespace ggml::ext {

bool all_computed_once(const FusionMatch & match, Verdict * why) {
    for (int i = 0; i < match.n; ++i) {
        const ggml_tensor * node = match.node(i);
        // A node without an operator holds data from before the run (a parameter, say).
        const bool shows = op_is_metadata_only(node->op) && node->op != GGML_OP_NONE;
        if (!shows && !effects_of(node).runs_code) {
            return refuse(why, GGML_EXT_REASON_MATCH_NOT_COMPUTED, match.first + i,
                          "node %d '%s' (%s) has no compute flag, no elements or no operator",
                          match.first + i, node->name, ggml_op_desc(node));
        }
        // The other place would compute it from, or into, storage that is gone.
        if (match.listed_twice.count(node) != 0) {
            return refuse(why, GGML_EXT_REASON_MATCH_LISTED_TWICE, match.first + i,
                          "node %d '%s' stands in the graph more than once", match.first + i, node->name);
        }
    }
    return true;
}

} // namespace ggml::ext
