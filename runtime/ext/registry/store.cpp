#include "runtime/ext/registry/store.h"

#include <algorithm>

namespace ggml::ext {
namespace {

constinit std::mutex writers;
constinit std::atomic<uint64_t> n_registrations = 0;

// So that the push_back after all else has succeeded cannot fail. Doubled, or registering n would copy n * n.
template <class T>
void make_room_for_one(std::vector<T> & items) {
    if (items.size() == items.capacity()) items.reserve(std::max<size_t>(8, 2 * items.size()));
}

const char * words_for(Frozen cause) {
    switch (cause) {
    case Frozen::capability_query: return "answered a capability query";
    case Frozen::graph_allocation: return "was given a graph to allocate";
    case Frozen::direct_compute: return "computed a graph";
    case Frozen::no: break;
    }
    return "was used";
}

ggml_ext_status refuse_late(const Kernel & kernel, Frozen cause) {
    return answer(GGML_EXT_LATE, GGML_EXT_REASON_LATE, "device %s %s before kernel %s was registered",
                  ggml_backend_dev_name(kernel.device), words_for(cause), kernel.name.c_str());
}

} // namespace

std::unique_lock<std::mutex> lock_writers() { return std::unique_lock(writers); }

uint64_t generation() noexcept { return n_registrations.load(std::memory_order_acquire); }

const DeviceKernels * kernels_of(ggml_backend_dev_t device) noexcept {
    return static_cast<const DeviceKernels *>(published(device).load(std::memory_order_acquire));
}

// Never destroyed: threads and static objects of the application may outlive any order of destruction here.
Registry & Registry::of_process() {
    static Registry & registry = *new Registry;
    return registry;
}

ggml_ext_op * Registry::find_op(std::string_view name) const {
    const auto found = ops_.find(name);
    return found != ops_.end() ? found->second.get() : nullptr;
}

bool Registry::has_op(const ggml_ext_op * op) const {
    return std::any_of(ops_.begin(), ops_.end(),
                       [op](const auto & entry) { return entry.second.get() == op; });
}

ggml_ext_status Registry::add_op(std::unique_ptr<ggml_ext_op> op) {
    const std::string_view name = op->full_name;
    if (find_op(name) != nullptr) {
        return answer(GGML_EXT_DUPLICATE, GGML_EXT_REASON_NAME_TAKEN, "operator %s is registered already",
                      op->name);
    }
    ops_.try_emplace(name, std::move(op));
    n_registrations.fetch_add(1, std::memory_order_release);
    return GGML_EXT_SUCCESS;
}

ggml_ext_status Registry::add_kernel(std::unique_ptr<Kernel> kernel) {
    const Frozen cause = frozen_by(kernel->device);
    if (cause != Frozen::no) return refuse_late(*kernel, cause);
    if (kernel->call.custom_op != nullptr && !has_op(kernel->call.custom_op)) {
        return answer(GGML_EXT_INVALID, GGML_EXT_REASON_UNKNOWN_OP,
                      "kernel %s: custom_op %p is not registered", kernel->name.c_str(),
                      static_cast<const void *>(kernel->call.custom_op));
    }
    const DeviceKernels * before = kernels_of(kernel->device);
    if (before != nullptr && std::any_of(before->all().begin(), before->all().end(),
                                         [&](const Kernel * k) { return k->name == kernel->name; })) {
        return answer(GGML_EXT_DUPLICATE, GGML_EXT_REASON_NAME_TAKEN,
                      "device %s has a kernel %s already, of %zu kernels",
                      ggml_backend_dev_name(kernel->device), kernel->name.c_str(), before->all().size());
    }
    make_room_for_one(kernels_);
    make_room_for_one(snapshots_);
    const uint64_t number = n_registrations.load(std::memory_order_relaxed) + 1;
    std::unique_ptr<const DeviceKernels> after(new DeviceKernels(before, *kernel, number));

    // From here on nothing fails.
    const DeviceKernels * const visible = after.get();
    const ggml_backend_dev_t device = kernel->device;
    snapshots_.push_back(std::move(after));
    kernels_.push_back(std::move(kernel));
    n_registrations.store(number, std::memory_order_release);
    published(device).store(visible, std::memory_order_release);
    return GGML_EXT_SUCCESS;
}

} // namespace ggml::ext
