// Copies from system memory to a device, by the thread that owns this: through page-locked memory where the
// device has some, on a stream of its own where it has streams, so that neither waits for what computes.
#pragma once

#include "ggml-cpp.h"

#include <atomic>
#include <cstddef>

namespace sd {

class Upload {
  public:
    // to: the memory that is written.
    explicit Upload(ggml_backend_buffer_type_t to);

    // System memory that the owner of `to` reads best.
    static ggml_backend_buffer_type_t host_memory(ggml_backend_buffer_type_t to);

    // All bytes of a tensor that has a place. They are there after `finish`; `from` may change after it, too.
    // Throws Error when `cancel` was set.
    void copy(ggml_tensor * to, const std::byte * from, const std::atomic<bool> * cancel);
    void finish();

  private:
    void copy_piece(ggml_tensor * to, const std::byte * from, size_t offset, size_t bytes);

    ggml_backend_ptr stream_;         // NULL: the device has none
    ggml_backend_buffer_ptr staging_; // NULL: it has no memory of that kind
    size_t half_ = 0;                 // of staging_ that is written next
};

} // namespace sd
