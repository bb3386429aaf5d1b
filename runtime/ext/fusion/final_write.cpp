// Where the result of the step goes: storage of its own, the destination of a copy, or all of an earlier node
// of the match. Anything else would leave bytes that only the unfused nodes would have written, or write
// bytes before somebody outside has read them.
#include "runtime/ext/effects/effects.h"
#include "runtime/ext/fusion/match.h"

namespace ggml::ext {
namespace {

bool covers(const ggml_tensor * written, const ggml_tensor * owner) {
    uint64_t offset = 0;
    for (const ggml_tensor * t = written; t != owner; t = t->view_src) offset += t->view_offs;
    return offset == 0 && written->type == owner->type && ggml_are_same_shape(written, owner) &&
           ggml_are_same_stride(written, owner);
}

} // namespace

bool final_write_is_allowed(const FusionMatch & match, Verdict * why) {
    const ggml_tensor * node = match.final_node();
    const ggml_tensor * owner = storage_owner(node);
    const int number = match.first + match.n - 1;
    if (op_is_metadata_only(node->op)) {
        return refuse(why, GGML_EXT_REASON_FINAL_VIEW, number, "node %d '%s' (%s) computes nothing", number,
                      node->name, ggml_op_desc(node));
    }
    if (owner == node) return true;
    if (match.find(owner) < 0) {
        if (node->op == GGML_OP_CPY) return true;
        return refuse(why, GGML_EXT_REASON_FINAL_OUTSIDE, number, "node %d '%s' (%s) writes over '%s'",
                      number, node->name, ggml_op_desc(node), owner->name);
    }
    if (!covers(node, owner)) {
        return refuse(why, GGML_EXT_REASON_WRITEBACK_PARTIAL, number,
                      "node %d '%s' does not have the type, shape, strides and start of '%s'", number,
                      node->name, owner->name);
    }
    return true;
}

} // namespace ggml::ext
