#include "ggml-backend.h"

#include "runtime/base/log.h"
#include "runtime/base/math.h"

extern "C" {

ggml_tallocr ggml_tallocr_new(ggml_backend_buffer_t buffer) {
    ggml_tallocr talloc = {};
    talloc.buffer = buffer;
    talloc.base = ggml_backend_buffer_get_base(buffer);
    talloc.alignment = ggml_backend_buffer_get_alignment(buffer);
    // A buffer over the caller's memory may start anywhere.
    const auto misaligned = reinterpret_cast<uintptr_t>(talloc.base) % talloc.alignment;
    talloc.offset = misaligned != 0 ? talloc.alignment - misaligned : 0;
    return talloc;
}

ggml_status ggml_tallocr_alloc(ggml_tallocr * talloc, ggml_tensor * tensor) {
    const size_t capacity = ggml_backend_buffer_get_size(talloc->buffer);
    const size_t bytes = ggml_backend_buffer_get_alloc_size(talloc->buffer, tensor);
    size_t padded = 0;
    if (talloc->offset > capacity || !ggml::checked_align_up(bytes, talloc->alignment, padded) ||
        padded > capacity - talloc->offset) {
        GGML_LOG_ERROR("tensor '%s' needs %zu bytes, %zu of %zu are left in a %s buffer\n", tensor->name,
                       bytes, talloc->offset > capacity ? 0 : capacity - talloc->offset, capacity,
                       ggml_backend_buffer_name(talloc->buffer));
        return GGML_STATUS_ALLOC_FAILED;
    }
    const ggml_status status =
        ggml_backend_tensor_alloc(talloc->buffer, tensor, static_cast<char *>(talloc->base) + talloc->offset);
    if (status != GGML_STATUS_SUCCESS) {
        tensor->data = nullptr;
        tensor->buffer = nullptr;
        return status;
    }
    talloc->offset += padded;
    return GGML_STATUS_SUCCESS;
}

} // extern "C"
