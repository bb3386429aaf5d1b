#include "runtime/backend/interface.h"

#include <cstdint>

namespace ggml {
namespace {

// A buffer of size 0 has no memory, so no device is asked for it: some cannot make one.
const ggml_backend_buffer_i kEmptyBuffer = {};

} // namespace
} // namespace ggml

extern "C" {

const char * ggml_backend_buft_name(ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(buft != nullptr);
    return buft->iface.get_name(buft);
}

ggml_backend_buffer_t ggml_backend_buft_alloc_buffer(ggml_backend_buffer_type_t buft, size_t size) {
    GGML_ASSERT(buft != nullptr);
    if (size == 0) return ggml::make_buffer(buft, ggml::kEmptyBuffer, nullptr, 0);
    return buft->iface.alloc_buffer(buft, size);
}

size_t ggml_backend_buft_get_alignment(ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(buft != nullptr);
    return buft->iface.get_alignment(buft);
}

size_t ggml_backend_buft_get_max_size(ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(buft != nullptr);
    return buft->iface.get_max_size != nullptr ? buft->iface.get_max_size(buft) : SIZE_MAX;
}

size_t ggml_backend_buft_get_alloc_size(ggml_backend_buffer_type_t buft, const ggml_tensor * tensor) {
    GGML_ASSERT(buft != nullptr);
    if (buft->iface.get_alloc_size == nullptr) return ggml_nbytes(tensor);
    const size_t size = buft->iface.get_alloc_size(buft, tensor);
    GGML_ASSERT(size >= ggml_nbytes(tensor));
    return size;
}

bool ggml_backend_buft_is_host(ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(buft != nullptr);
    return buft->iface.is_host != nullptr && buft->iface.is_host(buft);
}

ggml_backend_dev_t ggml_backend_buft_get_device(ggml_backend_buffer_type_t buft) {
    GGML_ASSERT(buft != nullptr);
    return buft->device;
}

} // extern "C"
