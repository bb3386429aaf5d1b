// A kernel that replaces the nodes reproduces results, so results must be all there is.
#include "runtime/ext/effects/effects.h"
#include "runtime/ext/fusion/match.h"

namespace ggml::ext {

bool all_pure(const FusionMatch & match, Verdict * why) {
    for (int i = 0; i < match.n; ++i) {
        const ggml_tensor * node = match.node(i);
        if (effects_of(node).known) continue;
        return refuse(why, GGML_EXT_REASON_NOT_PURE, match.first + i,
                      "node %d '%s' (%s) may touch more than its sources and its result", match.first + i,
                      node->name, ggml_op_desc(node));
    }
    return true;
}

} // namespace ggml::ext
