// Moving bytes between tensors.
#include "runtime/backend/interface.h"
#include "runtime/base/log.h"

#include <algorithm>
#include <memory>
#include <new>

namespace ggml {
namespace {

bool same_layout(const ggml_tensor * a, const ggml_tensor * b) {
    if (a->type != b->type) return false;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        // The stride of a dimension with one element is never used.
        if (a->ne[i] != b->ne[i]) return false;
        if (a->ne[i] > 1 && a->nb[i] != b->nb[i]) return false;
    }
    return true;
}

void require_same_layout(const ggml_tensor * src, const ggml_tensor * dst) {
    GGML_ASSERT(src != nullptr && dst != nullptr);
    if (same_layout(src, dst)) return;
    ggml_abort(__FILE__, __LINE__, "ggml_backend_tensor_copy: '%s' and '%s' differ in type, shape or strides",
               src->name, dst->name);
}

// Neither side is host memory and the devices cannot reach each other: through host memory in bounded pieces,
// so that lack of memory for a large bounce buffer cannot make a copy fail.
void copy_through_host(const ggml_tensor * src, ggml_tensor * dst) {
    constexpr size_t kPiece = size_t(1) << 20;
    constexpr size_t kSmallPiece = 4096;
    char small[kSmallPiece];
    const size_t total = ggml_nbytes(src);
    std::unique_ptr<char[]> large;
    if (total > kSmallPiece) large.reset(new (std::nothrow) char[std::min(total, kPiece)]);
    char * bounce = large != nullptr ? large.get() : small;
    const size_t piece = large != nullptr ? std::min(total, kPiece) : kSmallPiece;
    for (size_t offset = 0; offset < total; offset += piece) {
        const size_t size = std::min(piece, total - offset);
        ggml_backend_tensor_get(src, bounce, offset, size);
        ggml_backend_tensor_set(dst, bounce, offset, size);
    }
}

ggml_backend_buffer_t storage(const ggml_tensor * tensor) {
    return tensor->view_src != nullptr ? tensor->view_src->buffer : tensor->buffer;
}

} // namespace
} // namespace ggml

extern "C" {

void ggml_backend_tensor_copy(const ggml_tensor * src, ggml_tensor * dst) {
    ggml::require_same_layout(src, dst);
    const size_t bytes = ggml_nbytes(src);
    if (src == dst || bytes == 0) return;
    ggml_backend_buffer_t from = ggml::storage(src), to = ggml::storage(dst);
    GGML_ASSERT(from != nullptr && to != nullptr);
    if (to->iface.cpy_tensor != nullptr && to->iface.cpy_tensor(to, src, dst)) return;
    if (ggml_backend_buffer_is_host(from)) {
        ggml_backend_tensor_set(dst, src->data, 0, bytes);
    } else if (ggml_backend_buffer_is_host(to)) {
        ggml_backend_tensor_get(src, dst->data, 0, bytes);
    } else {
        ggml::copy_through_host(src, dst);
    }
}

void ggml_backend_tensor_copy_async(ggml_backend_t backend_src, ggml_backend_t backend_dst,
                                    const ggml_tensor * src, ggml_tensor * dst) {
    ggml::require_same_layout(src, dst);
    GGML_ASSERT(backend_src != nullptr && backend_dst != nullptr);
    if (src == dst || ggml_nbytes(src) == 0) return;
    const auto async = backend_dst->iface.cpy_tensor_async;
    if (async != nullptr && async(backend_src, backend_dst, src, dst)) return;
    // Waiting for both streams gives the order the asynchronous copy would have.
    ggml_backend_synchronize(backend_src);
    ggml_backend_synchronize(backend_dst);
    ggml_backend_tensor_copy(src, dst);
}

} // extern "C"
