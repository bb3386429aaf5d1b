#include "runtime/ext/selection/ask.h"

#include "runtime/base/log.h"

namespace ggml::ext {
namespace {

// The callbacks under way on this thread, innermost first.
struct Question {
    ggml_backend_dev_t device;
    ggml_op op;
    const ExtensionOpHead * custom;
    Question * outer;
    bool asked_itself = false;
};
thread_local Question * innermost = nullptr;

using Callback = bool (*)(ggml_backend_dev_t, const ggml_tensor *, ggml_ext_why_t, void *);

bool ask(Callback callback, const Kernel & kernel, const ggml_tensor * node, ggml_ext_reason otherwise,
         Verdict * why) {
    Question question{kernel.device, node->op, extension_op(node), innermost};
    innermost = &question;
    const bool yes = callback(kernel.device, node, why, kernel.call.user_data);
    innermost = question.outer;
    if (question.asked_itself) {
        GGML_LOG_ERROR(
            "ggml_ext: %s asks its own device about %s while it is asked itself, and is not used\n",
            kernel.name.c_str(), ggml_op_desc(node));
        return refuse(why, GGML_EXT_REASON_RECURSION, -1, "%s, asked about %s", kernel.name.c_str(),
                      ggml_op_desc(node));
    }
    if (!yes && why != nullptr && !why->refused()) return refuse(why, otherwise, -1, "no reason was given");
    return yes;
}

} // namespace

bool ask_supports(const Kernel & kernel, const ggml_tensor * node, Verdict * why) {
    return ask(kernel.call.supports, kernel, node, GGML_EXT_REASON_CALLBACK, why);
}

bool ask_preferred(const Kernel & kernel, const ggml_tensor * node, Verdict * why) {
    return kernel.call.preferred == nullptr ||
           ask(kernel.call.preferred, kernel, node, GGML_EXT_REASON_NOT_PREFERRED, why);
}

bool asks_itself(ggml_backend_dev_t device, const ggml_tensor * node) noexcept {
    for (Question * q = innermost; q != nullptr; q = q->outer) {
        if (q->device != device || q->op != node->op || q->custom != extension_op(node)) continue;
        return q->asked_itself = true;
    }
    return false;
}

} // namespace ggml::ext
