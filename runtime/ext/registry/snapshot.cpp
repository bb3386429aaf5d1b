// The lists of one device, sorted once so that planning only walks them.
#include "runtime/ext/registry/registry.h"

#include <algorithm>

namespace ggml::ext {

DeviceKernels::DeviceKernels(const DeviceKernels * before, const Kernel & added, uint64_t generation)
    : generation_(generation) {
    if (before != nullptr) all_ = before->all_;
    // Behind everything of the same priority: equal ones stay in order of registration.
    const auto place =
        std::upper_bound(all_.begin(), all_.end(), added.call.priority,
                         [](int32_t priority, const Kernel * k) { return k->call.priority < priority; });
    all_.insert(place, &added);
    // Every operator has its lists before rules that start anywhere are added to all of them.
    for (const Kernel * kernel : all_) {
        if (kernel->call.custom_op != nullptr) custom_[kernel->call.custom_op];
    }
    for (const Kernel * kernel : all_) file(*kernel);
}

void DeviceKernels::file(const Kernel & kernel) {
    if (kernel.call.optimize != nullptr) optimizers_.push_back(&kernel);
    if (kernel.fuses()) rules_.push_back(&kernel);
    if (kernel.call.op == GGML_OP_NONE) {
        for (Lists & lists : builtin_) lists.rules.push_back(&kernel);
        for (auto & [op, lists] : custom_) lists.rules.push_back(&kernel);
        return;
    }
    Lists & lists =
        kernel.call.custom_op != nullptr ? custom_[kernel.call.custom_op] : builtin_[kernel.call.op];
    if (kernel.claims_nodes()) lists.kernels.push_back(&kernel);
    if (kernel.fuses()) lists.rules.push_back(&kernel);
}

const DeviceKernels::Lists & DeviceKernels::lists_for(const ggml_tensor * node) const {
    if (const ExtensionOpHead * head = extension_op(node)) {
        const auto found = custom_.find(static_cast<const ggml_ext_op *>(head));
        if (found != custom_.end()) return found->second;
    }
    // For CUSTOM nodes these hold only rules that may start anywhere, since kernels name their operator.
    return builtin_[node->op];
}

std::span<const Kernel * const> DeviceKernels::for_node(const ggml_tensor * node) const {
    return lists_for(node).kernels;
}

std::span<const Kernel * const> DeviceKernels::rules_for(const ggml_tensor * first) const {
    return lists_for(first).rules;
}

} // namespace ggml::ext
