// Moving bytes between tensors and host memory.
#include "runtime/backend/interface.h"
#include "runtime/base/math.h"

#include <cinttypes>

namespace ggml {
namespace {

// The buffer that holds the bytes: a view has those of its owner.
ggml_backend_buffer_t storage(const ggml_tensor * tensor) {
    GGML_ASSERT(tensor != nullptr);
    return tensor->view_src != nullptr ? tensor->view_src->buffer : tensor->buffer;
}

// Pieces of equal size at equal distances; one piece is the ordinary case.
struct Pieces {
    size_t offset, size, count, stride;
};

[[noreturn]] void range_failure(const char * what, const ggml_tensor * tensor, const Pieces & p) {
    ggml_abort(__FILE__, __LINE__,
               "%s: tensor '%s' has bytes [0, %zu), asked for %zu x %zu bytes from %zu at distance %zu", what,
               tensor->name, ggml_nbytes(tensor), p.count, p.size, p.offset, p.stride);
}

// Stops unless the tensor has storage and every piece lies in it.
ggml_backend_buffer_t checked_storage(const char * what, const ggml_tensor * tensor, const Pieces & p) {
    ggml_backend_buffer_t buffer = storage(tensor);
    if (buffer == nullptr || tensor->data == nullptr) {
        ggml_abort(__FILE__, __LINE__, "%s: tensor '%s' has no storage", what, tensor->name);
    }
    size_t last = 0, end = 0;
    const bool fits = checked_mul(p.count - 1, p.stride, last) && checked_add(last, p.offset, last) &&
                      checked_add(last, p.size, end) && end <= ggml_nbytes(tensor);
    if (!fits) range_failure(what, tensor, p);
    return buffer;
}

const char * advance(const void * p, size_t bytes) { return static_cast<const char *>(p) + bytes; }

char * advance(void * p, size_t bytes) { return static_cast<char *>(p) + bytes; }

} // namespace
} // namespace ggml

using ggml::advance;
using ggml::checked_storage;

extern "C" {

void ggml_backend_tensor_set(ggml_tensor * tensor, const void * data, size_t offset, size_t size) {
    if (size == 0) return;
    ggml_backend_buffer_t buffer = checked_storage("ggml_backend_tensor_set", tensor, {offset, size, 1, 0});
    buffer->iface.set_tensor(buffer, tensor, data, offset, size);
}

void ggml_backend_tensor_get(const ggml_tensor * tensor, void * data, size_t offset, size_t size) {
    if (size == 0) return;
    ggml_backend_buffer_t buffer = checked_storage("ggml_backend_tensor_get", tensor, {offset, size, 1, 0});
    buffer->iface.get_tensor(buffer, tensor, data, offset, size);
}

void ggml_backend_tensor_memset(ggml_tensor * tensor, uint8_t value, size_t offset, size_t size) {
    if (size == 0) return;
    ggml_backend_buffer_t buffer =
        checked_storage("ggml_backend_tensor_memset", tensor, {offset, size, 1, 0});
    buffer->iface.memset_tensor(buffer, tensor, value, offset, size);
}

void ggml_backend_tensor_set_2d(ggml_tensor * tensor, const void * data, size_t offset, size_t size,
                                size_t n_copies, size_t stride_tensor, size_t stride_data) {
    if (size == 0 || n_copies == 0) return;
    ggml_backend_buffer_t buffer =
        checked_storage("ggml_backend_tensor_set_2d", tensor, {offset, size, n_copies, stride_tensor});
    for (size_t i = 0; i < n_copies; ++i) {
        buffer->iface.set_tensor(buffer, tensor, advance(data, i * stride_data), offset + i * stride_tensor,
                                 size);
    }
}

void ggml_backend_tensor_get_2d(const ggml_tensor * tensor, void * data, size_t offset, size_t size,
                                size_t n_copies, size_t stride_tensor, size_t stride_data) {
    if (size == 0 || n_copies == 0) return;
    ggml_backend_buffer_t buffer =
        checked_storage("ggml_backend_tensor_get_2d", tensor, {offset, size, n_copies, stride_tensor});
    for (size_t i = 0; i < n_copies; ++i) {
        buffer->iface.get_tensor(buffer, tensor, advance(data, i * stride_data), offset + i * stride_tensor,
                                 size);
    }
}

void ggml_backend_tensor_set_async(ggml_backend_t backend, ggml_tensor * tensor, const void * data,
                                   size_t offset, size_t size) {
    ggml_backend_tensor_set_2d_async(backend, tensor, data, offset, size, 1, 0, 0);
}

void ggml_backend_tensor_get_async(ggml_backend_t backend, const ggml_tensor * tensor, void * data,
                                   size_t offset, size_t size) {
    ggml_backend_tensor_get_2d_async(backend, tensor, data, offset, size, 1, 0, 0);
}

void ggml_backend_tensor_set_2d_async(ggml_backend_t backend, ggml_tensor * tensor, const void * data,
                                      size_t offset, size_t size, size_t n_copies, size_t stride_tensor,
                                      size_t stride_data) {
    GGML_ASSERT(backend != nullptr);
    if (size == 0 || n_copies == 0) return;
    if (backend->iface.set_tensor_async == nullptr) {
        // The order promised by the asynchronous form has to hold here too.
        ggml_backend_synchronize(backend);
        ggml_backend_tensor_set_2d(tensor, data, offset, size, n_copies, stride_tensor, stride_data);
        return;
    }
    checked_storage("ggml_backend_tensor_set_async", tensor, {offset, size, n_copies, stride_tensor});
    for (size_t i = 0; i < n_copies; ++i) {
        backend->iface.set_tensor_async(backend, tensor, advance(data, i * stride_data),
                                        offset + i * stride_tensor, size);
    }
}

void ggml_backend_tensor_get_2d_async(ggml_backend_t backend, const ggml_tensor * tensor, void * data,
                                      size_t offset, size_t size, size_t n_copies, size_t stride_tensor,
                                      size_t stride_data) {
    GGML_ASSERT(backend != nullptr);
    if (size == 0 || n_copies == 0) return;
    if (backend->iface.get_tensor_async == nullptr) {
        ggml_backend_synchronize(backend);
        ggml_backend_tensor_get_2d(tensor, data, offset, size, n_copies, stride_tensor, stride_data);
        return;
    }
    checked_storage("ggml_backend_tensor_get_async", tensor, {offset, size, n_copies, stride_tensor});
    for (size_t i = 0; i < n_copies; ++i) {
        backend->iface.get_tensor_async(backend, tensor, advance(data, i * stride_data),
                                        offset + i * stride_tensor, size);
    }
}

} // extern "C"
