#include "runtime/ext/workspace/workspace.h"

#include "runtime/base/math.h"

#include <algorithm>
#include <array>
#include <new>

namespace ggml::ext {
namespace {

constexpr size_t kGuardBytes = 256;
constexpr uint8_t kGuardByte = 0x6b; // not what fresh memory or small numbers look like

size_t guard_bytes(bool guarded) { return guarded ? kGuardBytes : 0; }

// The guard as a tensor: devices are written and read through tensors only.
ggml_tensor guard_of(ggml_backend_buffer_t buffer, size_t bytes) {
    ggml_tensor t = {};
    t.type = GGML_TYPE_I8;
    t.ne[0] = int64_t(kGuardBytes);
    t.nb[0] = 1;
    for (int i = 1; i < GGML_MAX_DIMS; ++i) t.ne[i] = 1, t.nb[i] = kGuardBytes;
    t.buffer = buffer;
    t.data = static_cast<char *>(ggml_backend_buffer_get_base(buffer)) + bytes;
    return t;
}

} // namespace

size_t Workspace::allocated_bytes(ggml_backend_buffer_type_t buft, size_t bytes, bool guarded) {
    if (bytes == 0) return 0;
    const size_t whole = saturating_align_up(bytes, ggml_backend_buft_get_alignment(buft));
    return saturating_add(whole, guard_bytes(guarded));
}

std::shared_ptr<Workspace> Workspace::allocate(ggml_backend_buffer_type_t buft, size_t bytes, Verdict * why,
                                               bool guarded) {
    const size_t total = allocated_bytes(buft, bytes, guarded);
    if (total > ggml_backend_buft_get_max_size(buft)) {
        refuse(why, GGML_EXT_REASON_WORKSPACE_ABSURD, -1, "%zu bytes in one %s buffer, which may have %zu",
               bytes, ggml_backend_buft_name(buft), ggml_backend_buft_get_max_size(buft));
        return nullptr;
    }
    std::shared_ptr<Workspace> workspace(new (std::nothrow) Workspace);
    if (workspace != nullptr) workspace->buffer_ = ggml_backend_buft_alloc_buffer(buft, total);
    if (workspace == nullptr || workspace->buffer_ == nullptr) {
        refuse(why, GGML_EXT_REASON_WORKSPACE_MEMORY, -1, "%zu bytes of %s", bytes,
               ggml_backend_buft_name(buft));
        return nullptr;
    }
    ggml_backend_buffer_set_usage(workspace->buffer_, GGML_BACKEND_BUFFER_USAGE_COMPUTE);
    workspace->buft_ = buft;
    workspace->bytes_ = total - guard_bytes(guarded);
    workspace->guarded_ = guarded;
    if (guarded) {
        ggml_tensor guard = guard_of(workspace->buffer_, workspace->bytes_);
        ggml_backend_tensor_memset(&guard, kGuardByte, 0, kGuardBytes);
    }
    return workspace;
}

Workspace::~Workspace() { ggml_backend_buffer_free(buffer_); }

bool Workspace::guards_intact() const {
    if (!guarded_) return true;
    const ggml_tensor guard = guard_of(buffer_, bytes_);
    std::array<uint8_t, kGuardBytes> found = {};
    ggml_backend_tensor_get(&guard, found.data(), 0, kGuardBytes);
    return std::all_of(found.begin(), found.end(), [](uint8_t byte) { return byte == kGuardByte; });
}

} // namespace ggml::ext
