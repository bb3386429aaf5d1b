#include "runtime/backend/multi_buffer.h"

#include "runtime/alloc/multi_buffer.h"

#include <algorithm>
#include <memory>
#include <new>

namespace ggml {
namespace {

struct Parts {
    std::unique_ptr<ggml_backend_buffer_t[]> buffers;
    size_t count;
};

Parts & parts_of(ggml_backend_buffer_t buffer) { return *static_cast<Parts *>(buffer->context); }

void free_parts(ggml_backend_buffer_t buffer) {
    for (ggml_backend_buffer_t part : multi_buffer_parts(buffer)) ggml_backend_buffer_free(part);
    delete &parts_of(buffer);
}

void clear_parts(ggml_backend_buffer_t buffer, uint8_t value) {
    for (ggml_backend_buffer_t part : multi_buffer_parts(buffer)) ggml_backend_buffer_clear(part, value);
}

void reset_parts(ggml_backend_buffer_t buffer) {
    for (ggml_backend_buffer_t part : multi_buffer_parts(buffer)) ggml_backend_buffer_reset(part);
}

const ggml_backend_buffer_i kInterface = {
    .free_buffer = free_parts,
    .get_base = nullptr,
    .init_tensor = nullptr,
    .memset_tensor = nullptr,
    .set_tensor = nullptr,
    .get_tensor = nullptr,
    .cpy_tensor = nullptr,
    .clear = clear_parts,
    .reset = reset_parts,
};

} // namespace

ggml_backend_buffer_t make_multi_buffer(ggml_backend_buffer_t * buffers, size_t n_buffers) {
    GGML_ASSERT(n_buffers > 0);
    std::unique_ptr<Parts> parts(new (std::nothrow) Parts{nullptr, n_buffers});
    if (parts != nullptr) parts->buffers.reset(new (std::nothrow) ggml_backend_buffer_t[n_buffers]);
    ggml_backend_buffer_t whole = nullptr;
    if (parts != nullptr && parts->buffers != nullptr) {
        std::copy_n(buffers, n_buffers, parts->buffers.get());
        size_t total = 0;
        for (size_t i = 0; i < n_buffers; ++i) total += ggml_backend_buffer_get_size(buffers[i]);
        whole = make_buffer(buffers[0]->buft, kInterface, parts.get(), total);
    }
    if (whole != nullptr) {
        parts.release();
    } else {
        // The parts were handed over, so they must not outlive the failure.
        for (size_t i = 0; i < n_buffers; ++i) ggml_backend_buffer_free(buffers[i]);
    }
    return whole;
}

bool is_multi_buffer(ggml_backend_buffer_t buffer) {
    return buffer != nullptr && buffer->iface.free_buffer == free_parts;
}

std::span<const ggml_backend_buffer_t> multi_buffer_parts(ggml_backend_buffer_t buffer) {
    if (!is_multi_buffer(buffer)) return {};
    const Parts & parts = parts_of(buffer);
    return {parts.buffers.get(), parts.count};
}

} // namespace ggml
