#include "runtime/backend/registry.h"

#include "runtime/base/log.h"

#include <algorithm>
#include <new>

namespace ggml {
namespace {

// Locale does not matter for device names.
bool equal_ignoring_case(const char * a, const char * b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
    while (*a != '\0' && lower(*a) == lower(*b)) ++a, ++b;
    return lower(*a) == lower(*b);
}

} // namespace

BackendRegistry & BackendRegistry::instance() {
    // Never destroyed: devices of loaded libraries may be used by other static objects on the way out.
    static BackendRegistry * registry = new BackendRegistry;
    return *registry;
}

BackendRegistry::BackendRegistry() {
    for (const BackendRegFn * fn = kBuiltinBackends; *fn != nullptr; ++fn) {
        if (ggml_backend_reg_t reg = (*fn)()) add(reg, nullptr);
    }
}

bool BackendRegistry::add(ggml_backend_reg_t reg, void * library) try {
    if (reg == nullptr) return false;
    if (reg->api_version != kBackendApiVersion) {
        GGML_LOG_ERROR("backend with interface version %d refused, this library has version %d\n",
                       reg->api_version, kBackendApiVersion);
        return false;
    }
    const std::lock_guard lock(mutex_);
    for (const Family & f : families_) {
        if (f.reg == reg) return false;
    }
    families_.push_back({reg, library});
    const size_t count = ggml_backend_reg_dev_count(reg);
    for (size_t i = 0; i < count; ++i) add_device_locked(ggml_backend_reg_dev_get(reg, i));
    return true;
} catch (const std::bad_alloc &) {
    GGML_LOG_ERROR("no memory to register a backend\n");
    return false;
}

void BackendRegistry::add(ggml_backend_dev_t device) try {
    const std::lock_guard lock(mutex_);
    add_device_locked(device);
} catch (const std::bad_alloc &) {
    GGML_LOG_ERROR("no memory to register a device\n");
}

void BackendRegistry::add_device_locked(ggml_backend_dev_t device) {
    if (device == nullptr || std::find(devices_.begin(), devices_.end(), device) != devices_.end()) return;
    devices_.push_back(device);
}

void * BackendRegistry::remove(ggml_backend_reg_t reg) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(families_.begin(), families_.end(), [&](const Family & f) { return f.reg == reg; });
    if (found == families_.end()) return nullptr;
    void * library = found->library;
    families_.erase(found);
    std::erase_if(devices_, [&](ggml_backend_dev_t d) { return d->reg == reg; });
    return library;
}

size_t BackendRegistry::family_count() const {
    const std::lock_guard lock(mutex_);
    return families_.size();
}

ggml_backend_reg_t BackendRegistry::family(size_t index) const {
    const std::lock_guard lock(mutex_);
    return index < families_.size() ? families_[index].reg : nullptr;
}

ggml_backend_reg_t BackendRegistry::find_family(const char * name) const {
    if (name == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    for (const Family & f : families_) {
        if (equal_ignoring_case(ggml_backend_reg_name(f.reg), name)) return f.reg;
    }
    return nullptr;
}

size_t BackendRegistry::device_count() const {
    const std::lock_guard lock(mutex_);
    return devices_.size();
}

ggml_backend_dev_t BackendRegistry::device(size_t index) const {
    const std::lock_guard lock(mutex_);
    return index < devices_.size() ? devices_[index] : nullptr;
}

ggml_backend_dev_t BackendRegistry::find_device(const char * name) const {
    if (name == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    for (ggml_backend_dev_t d : devices_) {
        if (equal_ignoring_case(ggml_backend_dev_name(d), name)) return d;
    }
    return nullptr;
}

ggml_backend_dev_t BackendRegistry::find_device(enum ggml_backend_dev_type type) const {
    const std::lock_guard lock(mutex_);
    for (ggml_backend_dev_t d : devices_) {
        if (ggml_backend_dev_type(d) == type) return d;
    }
    return nullptr;
}

} // namespace ggml

using ggml::BackendRegistry;

extern "C" {

void ggml_backend_register(ggml_backend_reg_t reg) { BackendRegistry::instance().add(reg, nullptr); }

void ggml_backend_device_register(ggml_backend_dev_t device) { BackendRegistry::instance().add(device); }

size_t ggml_backend_reg_count(void) { return BackendRegistry::instance().family_count(); }

ggml_backend_reg_t ggml_backend_reg_get(size_t index) { return BackendRegistry::instance().family(index); }

ggml_backend_reg_t ggml_backend_reg_by_name(const char * name) {
    return BackendRegistry::instance().find_family(name);
}

size_t ggml_backend_dev_count(void) { return BackendRegistry::instance().device_count(); }

ggml_backend_dev_t ggml_backend_dev_get(size_t index) { return BackendRegistry::instance().device(index); }

ggml_backend_dev_t ggml_backend_dev_by_name(const char * name) {
    return BackendRegistry::instance().find_device(name);
}

ggml_backend_dev_t ggml_backend_dev_by_type(enum ggml_backend_dev_type type) {
    return BackendRegistry::instance().find_device(type);
}

ggml_backend_t ggml_backend_init_by_name(const char * name, const char * params) {
    ggml_backend_dev_t device = ggml_backend_dev_by_name(name);
    return device != nullptr ? ggml_backend_dev_init(device, params) : nullptr;
}

ggml_backend_t ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char * params) {
    ggml_backend_dev_t device = ggml_backend_dev_by_type(type);
    return device != nullptr ? ggml_backend_dev_init(device, params) : nullptr;
}

ggml_backend_t ggml_backend_init_best(void) {
    for (const auto type :
         {GGML_BACKEND_DEVICE_TYPE_GPU, GGML_BACKEND_DEVICE_TYPE_IGPU, GGML_BACKEND_DEVICE_TYPE_CPU}) {
        if (ggml_backend_dev_t device = ggml_backend_dev_by_type(type))
            return ggml_backend_dev_init(device, nullptr);
    }
    return nullptr;
}

} // extern "C"
