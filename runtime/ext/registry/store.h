// Owner of everything registered. Promise: one writer at a time; what was stored is neither moved nor
// released, because readers hold pointers without a lock; memory that runs out leaves all as it was.
#pragma once

#include "runtime/backend/interface.h"
#include "runtime/ext/registry/registry.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ggml::ext {

// What readers load without a lock, acquiring: whoever sees a list sees what it holds, and whoever sees a
// device frozen sees all that was registered before.
inline std::atomic_ref<const void *> published(ggml_backend_dev_t device) {
    return std::atomic_ref<const void *>(device->extensions);
}
inline std::atomic_ref<int> frozen(ggml_backend_dev_t device) {
    return std::atomic_ref<int>(device->extensions_frozen);
}

// Held while something is registered, and while a device freezes for the first time: a registration is
// entirely before the freeze or refused.
[[nodiscard]] std::unique_lock<std::mutex> lock_writers();

class Registry {
  public:
    static Registry & of_process(); // throws std::bad_alloc at its first use, then never

    // The caller has checked what can be checked without the lock. Throw std::bad_alloc.
    ggml_ext_status add_op(std::unique_ptr<ggml_ext_op> op);
    ggml_ext_status add_kernel(std::unique_ptr<Kernel> kernel);

    ggml_ext_op * find_op(std::string_view name) const;

  private:
    bool has_op(const ggml_ext_op * op) const;

    std::unordered_map<std::string_view, std::unique_ptr<ggml_ext_op>> ops_; // names point into the operators
    std::vector<std::unique_ptr<const Kernel>> kernels_;
    std::vector<std::unique_ptr<const DeviceKernels>> snapshots_; // of all devices, superseded ones too
};

} // namespace ggml::ext
