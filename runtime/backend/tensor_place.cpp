// Giving a tensor its place in a buffer.
#include "runtime/backend/interface.h"

extern "C" {

ggml_status ggml_backend_tensor_alloc(ggml_backend_buffer_t buffer, ggml_tensor * tensor, void * addr) {
    GGML_ASSERT(buffer != nullptr && tensor != nullptr);
    GGML_ASSERT(tensor->buffer == nullptr && tensor->data == nullptr && tensor->view_src == nullptr);
    const auto base = reinterpret_cast<uintptr_t>(ggml_backend_buffer_get_base(buffer));
    const auto place = reinterpret_cast<uintptr_t>(addr);
    const size_t size = ggml_backend_buffer_get_size(buffer);
    const size_t needed = ggml_backend_buffer_get_alloc_size(buffer, tensor);
    if (place < base || place - base > size || needed > size - (place - base)) {
        ggml_abort(__FILE__, __LINE__,
                   "ggml_backend_tensor_alloc: '%s' needs %zu bytes at %p, buffer %s has %zu bytes at %p",
                   tensor->name, needed, addr, ggml_backend_buffer_name(buffer), size,
                   ggml_backend_buffer_get_base(buffer));
    }
    tensor->buffer = buffer;
    tensor->data = addr;
    return ggml_backend_buffer_init_tensor(buffer, tensor);
}

ggml_status ggml_backend_view_init(ggml_tensor * tensor) {
    GGML_ASSERT(tensor != nullptr && tensor->buffer == nullptr && tensor->view_src != nullptr);
    GGML_ASSERT(tensor->view_src->buffer != nullptr && tensor->view_src->data != nullptr);
    tensor->buffer = tensor->view_src->buffer;
    tensor->data = static_cast<char *>(tensor->view_src->data) + tensor->view_offs;
    return ggml_backend_buffer_init_tensor(tensor->buffer, tensor);
}

} // extern "C"
