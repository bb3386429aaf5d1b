#include "runtime/ext/selection/selection.h"

#include "runtime/ext/effects/effects.h"
#include "runtime/ext/selection/ask.h"

namespace ggml::ext {
namespace {

// Asked at most once per node, and only if some kernel would run it.
class Native {
  public:
    Native(ggml_backend_dev_t device, const ggml_tensor * node) : device_(device), node_(node) {}
    bool runs() {
        if (!asked_) runs_ = ggml_ext_dev_supports_native_op(device_, node_);
        asked_ = true;
        return runs_;
    }

  private:
    ggml_backend_dev_t device_;
    const ggml_tensor * node_;
    bool asked_ = false, runs_ = false;
};

// What an extension may compute as a node of its own.
bool is_open(const ggml_tensor * node, Verdict * why) {
    if (node->view_src != nullptr) {
        return refuse(why, GGML_EXT_REASON_IN_PLACE_NODE, -1, "'%s' shows the storage of '%s'", node->name,
                      storage_owner(node)->name);
    }
    if ((node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0 || ggml_is_empty(node)) {
        return refuse(why, GGML_EXT_REASON_NOT_COMPUTED, -1, "'%s'", node->name);
    }
    return true;
}

bool wins(const Kernel & kernel, Native & native, const ggml_tensor * node, const Policy & policy,
          Verdict * why) {
    if (!policy.allows(kernel)) {
        return refuse(why, GGML_EXT_REASON_DISABLED, -1, "%s is on the list of disabled names",
                      kernel.name.c_str());
    }
    if (!is_open(node, why) || !ask_supports(kernel, node, why)) return false;
    if (!native.runs()) return true;
    if (!policy.kernels) {
        return refuse(why, GGML_EXT_REASON_DISABLED, -1, "the device runs %s itself and kernels are off",
                      ggml_op_desc(node));
    }
    return ask_preferred(kernel, node, why);
}

} // namespace

const Kernel * choose(ggml_backend_dev_t device, const DeviceKernels & kernels, const ggml_tensor * node,
                      const Policy & policy, std::vector<Candidate> * losers) {
    Native native(device, node);
    const Kernel * chosen = nullptr;
    for (const Kernel * kernel : kernels.for_node(node)) {
        if (chosen != nullptr) {
            Candidate & loser = losers->emplace_back(Candidate{kernel, {}});
            refuse(&loser.verdict, GGML_EXT_REASON_OUTRANKED, -1, "%s is considered earlier",
                   chosen->name.c_str());
            continue;
        }
        Candidate candidate{kernel, {}};
        if (wins(*kernel, native, node, policy, losers != nullptr ? &candidate.verdict : nullptr)) {
            chosen = kernel;
            if (losers == nullptr) break;
        } else if (losers != nullptr) {
            losers->push_back(std::move(candidate));
        }
    }
    return chosen;
}

bool some_kernel_supports(const DeviceKernels & kernels, const ggml_tensor * node, const Policy & policy) {
    if (node->view_src != nullptr) return false;
    for (const Kernel * kernel : kernels.for_node(node)) {
        if (policy.allows(*kernel) && ask_supports(*kernel, node, nullptr)) return true;
    }
    return false;
}

} // namespace ggml::ext
