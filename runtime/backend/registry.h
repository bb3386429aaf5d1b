// The process-wide list of backend families and their devices. Promise: built-in families come first, in the
// order of kBuiltinBackends, whatever is called first; entries keep their order; all functions may be called
// from any thread. A built-in family's registration function must not call the registry itself.
#pragma once

#include "runtime/backend/interface.h"

#include <mutex>
#include <vector>

namespace ggml {

class BackendRegistry {
  public:
    static BackendRegistry & instance();

    // `library` is closed when the family is removed; null for families that are linked in. False: nothing
    // was added (already listed, wrong interface version, or no memory), and the library stays the caller's.
    bool add(ggml_backend_reg_t reg, void * library);
    void add(ggml_backend_dev_t device);
    // The library of the family removed, null if there is none.
    void * remove(ggml_backend_reg_t reg);

    size_t family_count() const;
    ggml_backend_reg_t family(size_t index) const; // null when out of range
    ggml_backend_reg_t find_family(const char * name) const;

    size_t device_count() const;
    ggml_backend_dev_t device(size_t index) const; // null when out of range
    ggml_backend_dev_t find_device(const char * name) const;
    ggml_backend_dev_t find_device(enum ggml_backend_dev_type type) const;

  private:
    BackendRegistry();
    void add_device_locked(ggml_backend_dev_t device);

    struct Family {
        ggml_backend_reg_t reg;
        void * library;
    };

    mutable std::mutex mutex_;
    std::vector<Family> families_;
    std::vector<ggml_backend_dev_t> devices_;
};

} // namespace ggml
