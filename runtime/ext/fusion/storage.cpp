// Where intermediates would lie: in storage that no one has given yet and that an earlier node of the match
// owns.
#include "runtime/ext/effects/effects.h"
#include "runtime/ext/fusion/match.h"

namespace ggml::ext {
namespace {

// The retained owner is written when the step ends, while the unfused node would have written it at once. The
// difference shows where it shares bytes with what later nodes of the match read.
const ggml_tensor * input_over(const FusionMatch & match, const ggml_tensor * owner) {
    for (int i = 0; i < match.n; ++i) {
        for (const ggml_tensor * src : match.node(i)->src) {
            if (src == nullptr || match.find(src) >= 0) continue;
            if (overlap(src, owner) != GGML_EXT_OVERLAP_NONE) return src;
        }
    }
    return nullptr;
}

bool owned_storage_is_free(const FusionMatch & match, int position, Verdict * why) {
    const ggml_tensor * node = match.node(position);
    const int number = match.first + position;
    if (op_is_metadata_only(node->op)) {
        return refuse(why, GGML_EXT_REASON_VIEW_OUTSIDE, number, "node %d '%s' (%s) shows no other tensor",
                      number, node->name, ggml_op_desc(node));
    }
    if (!is_placed(node)) return true;
    if (node != match.retained_owner()) {
        return refuse(why, GGML_EXT_REASON_ALREADY_PLACED, number, "node %d '%s' has an address or a buffer",
                      number, node->name);
    }
    const ggml_tensor * input = input_over(match, node);
    if (input == nullptr) return true;
    return refuse(why, GGML_EXT_REASON_ALREADY_PLACED, number, "node %d '%s' lies over the input '%s'",
                  number, node->name, input->name);
}

} // namespace

bool storage_stays_inside(const FusionMatch & match, Verdict * why) {
    for (int i = 0; i + 1 < match.n; ++i) {
        const ggml_tensor * node = match.node(i);
        const ggml_tensor * owner = storage_owner(node);
        if (owner == node) {
            if (!owned_storage_is_free(match, i, why)) return false;
            continue;
        }
        const int at = match.find(owner);
        if (at >= 0 && at < i) continue;
        const ggml_ext_reason reason =
            op_is_metadata_only(node->op) ? GGML_EXT_REASON_VIEW_OUTSIDE : GGML_EXT_REASON_IN_PLACE_OUTSIDE;
        return refuse(why, reason, match.first + i,
                      "the storage of node %d '%s' (%s) belongs to '%s', no earlier node of the match",
                      match.first + i, node->name, ggml_op_desc(node), owner->name);
    }
    return true;
}

} // namespace ggml::ext
