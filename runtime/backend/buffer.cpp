#include "runtime/backend/interface.h"
#include "runtime/backend/multi_buffer.h"

#include <new>

namespace ggml {

ggml_backend_buffer_t make_buffer(ggml_backend_buffer_type_t buft, const ggml_backend_buffer_i & iface,
                                  void * context, size_t size) {
    return new (std::nothrow) ggml_backend_buffer{iface, buft, context, size, GGML_BACKEND_BUFFER_USAGE_ANY};
}

} // namespace ggml

extern "C" {

const char * ggml_backend_buffer_name(ggml_backend_buffer_t buffer) {
    GGML_ASSERT(buffer != nullptr);
    return ggml_backend_buft_name(buffer->buft);
}

void ggml_backend_buffer_free(ggml_backend_buffer_t buffer) {
    if (buffer == nullptr) return;
    if (buffer->iface.free_buffer != nullptr) buffer->iface.free_buffer(buffer);
    delete buffer;
}

void * ggml_backend_buffer_get_base(ggml_backend_buffer_t buffer) {
    GGML_ASSERT(buffer != nullptr);
    // Neither an empty buffer nor several buffers in one have a first byte.
    if (buffer->size == 0 || buffer->iface.get_base == nullptr) return nullptr;
    return buffer->iface.get_base(buffer);
}

size_t ggml_backend_buffer_get_size(ggml_backend_buffer_t buffer) {
    GGML_ASSERT(buffer != nullptr);
    return buffer->size;
}

ggml_status ggml_backend_buffer_init_tensor(ggml_backend_buffer_t buffer, ggml_tensor * tensor) {
    GGML_ASSERT(buffer != nullptr);
    return buffer->iface.init_tensor != nullptr ? buffer->iface.init_tensor(buffer, tensor)
                                                : GGML_STATUS_SUCCESS;
}

size_t ggml_backend_buffer_get_alignment(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_get_alignment(ggml_backend_buffer_get_type(buffer));
}

size_t ggml_backend_buffer_get_max_size(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_get_max_size(ggml_backend_buffer_get_type(buffer));
}

size_t ggml_backend_buffer_get_alloc_size(ggml_backend_buffer_t buffer, const ggml_tensor * tensor) {
    return ggml_backend_buft_get_alloc_size(ggml_backend_buffer_get_type(buffer), tensor);
}

bool ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer) {
    return ggml_backend_buft_is_host(ggml_backend_buffer_get_type(buffer));
}

ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer) {
    GGML_ASSERT(buffer != nullptr);
    return buffer->buft;
}

void ggml_backend_buffer_clear(ggml_backend_buffer_t buffer, uint8_t value) {
    GGML_ASSERT(buffer != nullptr);
    if (buffer->size != 0) buffer->iface.clear(buffer, value);
}

void ggml_backend_buffer_set_usage(ggml_backend_buffer_t buffer, ggml_backend_buffer_usage usage) {
    GGML_ASSERT(buffer != nullptr);
    buffer->usage = usage;
    // Tensors point at the parts, and it is their buffer's usage that is looked at.
    for (ggml_backend_buffer_t part : ggml::multi_buffer_parts(buffer)) part->usage = usage;
}

ggml_backend_buffer_usage ggml_backend_buffer_get_usage(ggml_backend_buffer_t buffer) {
    GGML_ASSERT(buffer != nullptr);
    return buffer->usage;
}

void ggml_backend_buffer_reset(ggml_backend_buffer_t buffer) {
    GGML_ASSERT(buffer != nullptr);
    if (buffer->iface.reset != nullptr) buffer->iface.reset(buffer);
}

} // extern "C"
