// When registration for a device ends.
#include "runtime/ext/registry/store.h"

namespace ggml::ext {

Frozen frozen_by(ggml_backend_dev_t device) noexcept {
    return Frozen(frozen(device).load(std::memory_order_acquire));
}

void freeze(ggml_backend_dev_t device, Frozen cause) noexcept {
    // Every capability query comes here: once frozen, this load is all it costs.
    if (frozen_by(device) != Frozen::no) return;
    const auto lock = lock_writers();
    if (frozen_by(device) == Frozen::no) frozen(device).store(int(cause), std::memory_order_release);
}

void forget_device(ggml_backend_dev_t device) {
    const auto lock = lock_writers();
    published(device).store(nullptr, std::memory_order_release);
    frozen(device).store(int(Frozen::no), std::memory_order_release);
}

} // namespace ggml::ext
