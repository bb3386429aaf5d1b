// Nodes that write in place (add_inplace, cpy into a tensor of the graph ...) have no storage of their own:
// whoever runs them has to run the owner of the storage and all other writers of it too, since memory belongs
// to one device.
#include "runtime/sched/sched.h"

#include "runtime/backend/interface.h"
#include "runtime/base/log.h"

namespace ggml::sched {
namespace {

bool supports_alone(const Scheduler & s, int backend, int32_t slot) {
    ggml_backend_t b = s.backends[size_t(backend)];
    const ggml_tensor * node = s.tensors[slot].tensor;
    if (!ggml_backend_supports_op(b, node)) return false;
    if (s.policy.disabled.empty()) return true;
    // The device's answer counts kernels that this scheduler must not use.
    const ext::DeviceKernels * kernels = ext::kernels_of(b->device);
    return kernels == nullptr || ggml_ext_dev_supports_native_op(b->device, node) ||
           ext::some_kernel_supports(*kernels, node, s.policy);
}

// The owner carries the answer for the whole group, so it is complete from here on.
void narrow(Scheduler & s, int32_t owner, int32_t member) {
    for (int b = 0; b < s.n_backends; ++b) {
        const uint16_t bit = uint16_t(1u << b);
        TensorState & state = s.tensors[owner];
        if ((state.supported & bit) != 0 && !supports_alone(s, b, member)) state.supported &= uint16_t(~bit);
    }
}

// What the caller set for a member holds for the group, if the backend runs all of it.
void adopt_callers_choice(Scheduler & s, int32_t owner, int32_t member) {
    TensorState & state = s.tensors[owner];
    if (state.backend == kNoBackend) state.backend = s.tensors[member].backend;
    if (state.backend == kNoBackend || (state.supported & (1u << state.backend)) != 0) return;
    GGML_LOG_WARN("scheduler: '%s' cannot be on %s, which does not run all nodes that write its storage\n",
                  state.tensor->name, ggml_backend_name(s.backends[size_t(state.backend)]));
    state.backend = kNoBackend;
}

} // namespace

bool supports(Scheduler & s, int backend, int32_t slot) {
    const int32_t group = s.tensors[slot].group;
    TensorState & state = s.tensors[group != kNoSlot ? group : slot];
    const uint16_t bit = uint16_t(1u << backend);
    if ((state.asked & bit) == 0) {
        state.asked |= bit;
        if (supports_alone(s, backend, slot)) state.supported |= bit;
    }
    return (state.supported & bit) != 0;
}

void group_writers(Scheduler & s, const ggml_cgraph * graph) {
    for (int i = 0; i < graph->n_nodes; ++i) {
        const int32_t slot = s.index.nodes[size_t(i)];
        const int32_t owner = s.tensors[slot].owner;
        // Storage that exists already decides by itself.
        if (owner == kNoSlot || is_view_op(graph->nodes[i]->op) || buffer_of(graph->nodes[i]) != nullptr)
            continue;
        if (s.tensors[owner].group == kNoSlot) {
            for (int b = 0; b < s.n_backends; ++b) (void)supports(s, b, owner);
            s.tensors[owner].group = owner;
        }
        s.tensors[slot].group = owner;
        s.index.writers.push_back(slot);
        narrow(s, owner, slot);
    }
    for (int32_t writer : s.index.writers) adopt_callers_choice(s, s.tensors[writer].owner, writer);
}

void settle_groups(Scheduler & s) {
    for (int32_t writer : s.index.writers) s.tensors[writer].backend = backend_of(s, writer);
}

} // namespace ggml::sched
