#include "runtime/alloc/virtual_buffer.h"

#include "runtime/base/log.h"

#include <algorithm>

namespace ggml::alloc {

bool VirtualBuffer::large_enough(std::span<const size_t> chunk_sizes) const {
    if (chunks_.size() < chunk_sizes.size()) return false;
    for (size_t c = 0; c < chunk_sizes.size(); ++c) {
        if (ggml_backend_buffer_get_size(chunks_[c]) < chunk_sizes[c]) return false;
    }
    return true;
}

bool VirtualBuffer::ensure(ggml_backend_buffer_type_t buft, std::span<const size_t> chunk_sizes) {
    if (large_enough(chunk_sizes)) return true;
    release();
    chunks_.reserve(chunk_sizes.size());
    for (size_t size : chunk_sizes) {
        ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(buft, size);
        if (buffer == nullptr) {
            GGML_LOG_ERROR("graph allocation: no memory for a %s buffer of %zu bytes\n",
                           ggml_backend_buft_name(buft), size);
            release();
            return false;
        }
        ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_COMPUTE);
        chunks_.push_back(buffer);
    }
    return true;
}

void VirtualBuffer::release() {
    for (ggml_backend_buffer_t buffer : chunks_) ggml_backend_buffer_free(buffer);
    chunks_.clear();
}

void VirtualBuffer::reset_tensors() {
    for (ggml_backend_buffer_t buffer : chunks_) ggml_backend_buffer_reset(buffer);
}

size_t VirtualBuffer::bytes() const {
    size_t sum = 0;
    for (ggml_backend_buffer_t buffer : chunks_) sum += ggml_backend_buffer_get_size(buffer);
    return sum;
}

bool VirtualBuffer::owns(const ggml_tensor * tensor) const {
    return std::find(chunks_.begin(), chunks_.end(), tensor->buffer) != chunks_.end();
}

ggml_status VirtualBuffer::place(ggml_tensor * tensor, int chunk, size_t offset) const {
    ggml_backend_buffer_t buffer = chunks_[size_t(chunk)];
    return ggml_backend_tensor_alloc(buffer, tensor,
                                     static_cast<char *>(ggml_backend_buffer_get_base(buffer)) + offset);
}

} // namespace ggml::alloc
