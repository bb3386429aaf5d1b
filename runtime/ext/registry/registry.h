// Everything that was registered. Promise: names are unique; a registration either stands completely or left
// nothing; readers see an immutable list per device without a lock, and a device without registrations costs
// one load; what was handed out stays valid for the life of the process.
#pragma once

#include "ggml-ext.h"
#include "runtime/ext/verdict/verdict.h"
#include "runtime/ops/extension_node.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

// A registered operator. Its head's name points into `full_name`.
struct ggml_ext_op : ggml::ExtensionOpHead {
    std::string full_name;
    size_t attr_size = 0;
    ggml_ext_infer_t infer = nullptr;
    ggml_ext_reference_t reference = nullptr;
    void * user_data = nullptr;
};

namespace ggml::ext {

// A registered kernel or fusion rule; `call` is the descriptor with its strings pointing into this object.
struct Kernel {
    std::string name;
    ggml_backend_dev_t device = nullptr;
    ggml_ext_kernel_desc call = {};

    bool claims_nodes() const { return call.supports != nullptr; }
    bool fuses() const { return call.match != nullptr; }
    bool capture_safe() const { return (call.flags & GGML_EXT_KERNEL_CAPTURE_SAFE) != 0; }
    bool replay_reusable() const { return (call.flags & GGML_EXT_KERNEL_REPLAY_REUSABLE) != 0; }
};

using KernelList = std::vector<const Kernel *>;

// One device's registrations at one moment, in the order they are considered: priority, then registration.
class DeviceKernels {
  public:
    uint64_t generation() const { return generation_; } // grows with every registration of the process
    std::span<const Kernel * const>
    for_node(const ggml_tensor * node) const; // that claim single nodes like it
    std::span<const Kernel * const>
    rules_for(const ggml_tensor * first) const; // whose match may start with it
    std::span<const Kernel * const> rules() const { return rules_; }
    std::span<const Kernel * const> optimizers() const { return optimizers_; }
    std::span<const Kernel * const> all() const { return all_; }

  private:
    friend class Registry;
    struct Lists {
        KernelList kernels, rules;
    };
    // All of `before`, which may be null, and one more.
    DeviceKernels(const DeviceKernels * before, const Kernel & added, uint64_t generation);
    void file(const Kernel & kernel);
    const Lists & lists_for(const ggml_tensor * node) const;

    uint64_t generation_ = 0;
    std::array<Lists, GGML_OP_COUNT> builtin_;
    std::unordered_map<const ggml_ext_op *, Lists> custom_;
    KernelList rules_, optimizers_, all_;
};

// Null when nothing is registered for the device.
const DeviceKernels * kernels_of(ggml_backend_dev_t device) noexcept;

// Number of registrations so far, in the process.
uint64_t generation() noexcept;

// What makes a device's later registrations late. The first cause stays.
enum class Frozen : int { no = 0, capability_query, graph_allocation, direct_compute };
void freeze(ggml_backend_dev_t device, Frozen cause) noexcept;
Frozen frozen_by(ggml_backend_dev_t device) noexcept;

// For tests, which share a process: the device has no registrations and is not frozen any more.
void forget_device(ggml_backend_dev_t device);

} // namespace ggml::ext
