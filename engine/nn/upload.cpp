#include "nn/upload.h"

#include "base/error.h"
#include "ggml-backend.h"

#include <algorithm>
#include <cstring>

namespace sd {
namespace {

// One half is filled while the other one is on its way.
constexpr size_t kHalf = size_t(8) << 20;

} // namespace

ggml_backend_buffer_type_t Upload::host_memory(ggml_backend_buffer_type_t to) {
    ggml_backend_dev_t device = ggml_backend_buft_get_device(to);
    ggml_backend_buffer_type_t best = device != nullptr ? ggml_backend_dev_host_buffer_type(device) : nullptr;
    return best != nullptr ? best : ggml_backend_cpu_buffer_type();
}

Upload::Upload(ggml_backend_buffer_type_t to) {
    ggml_backend_dev_t device = ggml_backend_buft_get_device(to);
    if (device == nullptr || ggml_backend_buft_is_host(to)) return;
    ggml_backend_dev_props props = {};
    ggml_backend_dev_get_props(device, &props);
    if (props.caps.async) stream_.reset(ggml_backend_dev_init(device, nullptr));
    ggml_backend_buffer_type_t memory = ggml_backend_dev_host_buffer_type(device);
    if (stream_ == nullptr || memory == nullptr) return;
    staging_.reset(ggml_backend_buft_alloc_buffer(memory, 2 * kHalf));
}

void Upload::copy_piece(ggml_tensor * to, const std::byte * from, size_t offset, size_t bytes) {
    if (stream_ == nullptr) {
        ggml_backend_tensor_set(to, from, offset, bytes);
        return;
    }
    if (staging_ != nullptr) {
        // Both halves are free again after this; the copies of one overlap with filling the other.
        if (half_ == 2) finish();
        auto * staging =
            static_cast<std::byte *>(ggml_backend_buffer_get_base(staging_.get())) + half_ * kHalf;
        std::memcpy(staging, from, bytes);
        from = staging;
        ++half_;
    }
    ggml_backend_tensor_set_async(stream_.get(), to, from, offset, bytes);
}

void Upload::copy(ggml_tensor * to, const std::byte * from, const std::atomic<bool> * cancel) {
    const size_t all = ggml_nbytes(to);
    for (size_t at = 0; at < all; at += kHalf) {
        if (cancel != nullptr && *cancel) {
            finish();
            throw Error({"E_CANCELLED", {}, {}, "cancelled", {}});
        }
        copy_piece(to, from + at, at, std::min(kHalf, all - at));
    }
}

void Upload::finish() {
    if (stream_ != nullptr) ggml_backend_synchronize(stream_.get());
    half_ = 0;
}

} // namespace sd
