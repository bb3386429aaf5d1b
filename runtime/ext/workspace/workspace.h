// Scratch memory of a plan. Promise: as large as the largest step asks for, not the sum; counted before it is
// allocated and allocated as counted; in debug builds bytes behind it show whether a kernel left its bounds.
// Shared by plans that run one after another, and kept alive by recordings that know its address.
#pragma once

#include "ggml-backend.h"
#include "runtime/ext/verdict/verdict.h"

#include <memory>

namespace ggml::ext {

class Workspace {
  public:
#ifdef NDEBUG
    static constexpr bool kGuardedByDefault = false;
#else
    static constexpr bool kGuardedByDefault = true;
#endif

    // Null, with the reason, when the device cannot give that much.
    static std::shared_ptr<Workspace> allocate(ggml_backend_buffer_type_t buft, size_t bytes, Verdict * why,
                                               bool guarded = kGuardedByDefault);

    // What `allocate` takes from the device for a request of this size; 0 for 0.
    static size_t allocated_bytes(ggml_backend_buffer_type_t buft, size_t bytes,
                                  bool guarded = kGuardedByDefault);

    ~Workspace();
    Workspace(const Workspace &) = delete;
    Workspace & operator=(const Workspace &) = delete;

    ggml_backend_buffer_t buffer() const { return buffer_; }
    ggml_backend_buffer_type_t buffer_type() const { return buft_; }
    size_t bytes() const { return bytes_; } // usable

    bool guarded() const { return guarded_; }

    // Are the bytes behind the usable ones still what they were? Always true without guards. The caller has
    // waited for the device.
    bool guards_intact() const;

  private:
    Workspace() = default;
    ggml_backend_buffer_t buffer_ = nullptr;
    ggml_backend_buffer_type_t buft_ = nullptr;
    size_t bytes_ = 0;
    bool guarded_ = false;
};

} // namespace ggml::ext
