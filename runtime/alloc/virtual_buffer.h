// Memory for one plan: as many buffers of a type as the plan has chunks. Promise: never smaller than what was
// asked last with success; when memory is short everything is given back.
#pragma once

#include "ggml-backend.h"

#include <cstddef>
#include <span>
#include <vector>

namespace ggml::alloc {

class VirtualBuffer {
  public:
    VirtualBuffer() = default;
    VirtualBuffer(VirtualBuffer && other) noexcept : chunks_(std::move(other.chunks_)) {
        other.chunks_.clear();
    }
    VirtualBuffer & operator=(VirtualBuffer &&) = delete;
    ~VirtualBuffer() { release(); }

    // Makes every chunk at least this large. Old memory is given back first: both together might not fit the
    // device.
    [[nodiscard]] bool ensure(ggml_backend_buffer_type_t buft, std::span<const size_t> chunk_sizes);
    void release();

    void reset_tensors();
    size_t bytes() const;
    bool owns(const ggml_tensor * tensor) const;
    ggml_status place(ggml_tensor * tensor, int chunk, size_t offset) const;

  private:
    bool large_enough(std::span<const size_t> chunk_sizes) const;

    std::vector<ggml_backend_buffer_t> chunks_;
};

} // namespace ggml::alloc
