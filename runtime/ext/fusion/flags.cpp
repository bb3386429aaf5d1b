// Flags say that the caller fills or fetches a tensor. The owner that the final node writes back to may be
// fetched: its last value is the same. Marking a view as an output marks its owner too.
#include "runtime/ext/fusion/match.h"

namespace ggml::ext {

bool no_intermediate_is_marked(const FusionMatch & match, Verdict * why) {
    constexpr int kFetched = GGML_TENSOR_FLAG_OUTPUT | GGML_TENSOR_FLAG_LOSS;
    constexpr int kFilled = GGML_TENSOR_FLAG_INPUT | GGML_TENSOR_FLAG_PARAM;
    const ggml_tensor * retained = match.retained_owner();
    for (int i = 0; i + 1 < match.n; ++i) {
        const ggml_tensor * node = match.node(i);
        if ((node->flags & kFilled) != 0) {
            return refuse(why, GGML_EXT_REASON_INPUT_FLAG, match.first + i, "node %d '%s' has flags %d",
                          match.first + i, node->name, node->flags);
        }
        if ((node->flags & kFetched) != 0 && node != retained) {
            return refuse(why, GGML_EXT_REASON_OUTPUT_FLAG, match.first + i, "node %d '%s' has flags %d",
                          match.first + i, node->name, node->flags);
        }
    }
    return true;
}

} // namespace ggml::ext
