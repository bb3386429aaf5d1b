// Plain host memory: the buffer type every CPU computation uses, and buffers over memory of the caller.
#include "runtime/backend/interface.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"

#include <cstdlib>
#include <cstring>

namespace ggml {
namespace {

// A cache line, and the widest vector register: rows that start here are read with aligned loads.
constexpr size_t kHostAlignment = 64;
// Memory of the caller may be a mapped file, where data is only aligned as the file format promises.
constexpr size_t kForeignAlignment = 32;

void free_memory(ggml_backend_buffer_t buffer) { std::free(buffer->context); }

void * get_base(ggml_backend_buffer_t buffer) { return buffer->context; }

void memset_tensor(ggml_backend_buffer_t, ggml_tensor * t, uint8_t value, size_t offset, size_t size) {
    std::memset(static_cast<char *>(t->data) + offset, value, size);
}

void set_tensor(ggml_backend_buffer_t, ggml_tensor * t, const void * data, size_t offset, size_t size) {
    std::memcpy(static_cast<char *>(t->data) + offset, data, size);
}

void get_tensor(ggml_backend_buffer_t, const ggml_tensor * t, void * data, size_t offset, size_t size) {
    std::memcpy(data, static_cast<const char *>(t->data) + offset, size);
}

bool cpy_tensor(ggml_backend_buffer_t, const ggml_tensor * src, ggml_tensor * dst) {
    if (!ggml_backend_buffer_is_host(src->buffer)) return false;
    // Both may be views of the same storage.
    std::memmove(dst->data, src->data, ggml_nbytes(src));
    return true;
}

void clear(ggml_backend_buffer_t buffer, uint8_t value) { std::memset(buffer->context, value, buffer->size); }

constexpr ggml_backend_buffer_i kOwned = {
    .free_buffer = free_memory,
    .get_base = get_base,
    .init_tensor = nullptr,
    .memset_tensor = memset_tensor,
    .set_tensor = set_tensor,
    .get_tensor = get_tensor,
    .cpy_tensor = cpy_tensor,
    .clear = clear,
    .reset = nullptr,
};

constexpr ggml_backend_buffer_i kBorrowed = [] {
    ggml_backend_buffer_i iface = kOwned;
    iface.free_buffer = nullptr;
    return iface;
}();

const char * owned_name(ggml_backend_buffer_type_t) { return "CPU"; }

const char * borrowed_name(ggml_backend_buffer_type_t) { return "CPU_Mapped"; }

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t buft, size_t size) {
    size_t rounded = 0;
    void * memory = nullptr;
    if (checked_align_up(size, kHostAlignment, rounded)) memory = std::aligned_alloc(kHostAlignment, rounded);
    if (memory == nullptr) {
        GGML_LOG_ERROR("CPU: cannot allocate a buffer of %zu bytes\n", size);
        return nullptr;
    }
    ggml_backend_buffer_t buffer = make_buffer(buft, kOwned, memory, size);
    if (buffer == nullptr) std::free(memory);
    return buffer;
}

size_t owned_alignment(ggml_backend_buffer_type_t) { return kHostAlignment; }

size_t borrowed_alignment(ggml_backend_buffer_type_t) { return kForeignAlignment; }

bool is_host(ggml_backend_buffer_type_t) { return true; }

constexpr ggml_backend_buffer_type_i kTypeInterface = {
    .get_name = owned_name,
    .alloc_buffer = alloc_buffer,
    .get_alignment = owned_alignment,
    .get_max_size = nullptr,
    .get_alloc_size = nullptr,
    .is_host = is_host,
};

constexpr ggml_backend_buffer_type_i kBorrowedTypeInterface = [] {
    ggml_backend_buffer_type_i iface = kTypeInterface;
    iface.get_name = borrowed_name;
    iface.get_alignment = borrowed_alignment;
    return iface;
}();

ggml_backend_buffer_type_t borrowed_type() {
    static ggml_backend_buffer_type type = {kBorrowedTypeInterface, nullptr, nullptr};
    return &type;
}

} // namespace
} // namespace ggml

extern "C" {

ggml_backend_buffer_type_t ggml_backend_cpu_buffer_type(void) {
    static ggml_backend_buffer_type type = {ggml::kTypeInterface, nullptr, nullptr};
    return &type;
}

ggml_backend_buffer_t ggml_backend_cpu_buffer_from_ptr(void * ptr, size_t size) {
    if (reinterpret_cast<uintptr_t>(ptr) % ggml::kForeignAlignment != 0) {
        GGML_LOG_ERROR("CPU: memory at %p cannot be a buffer, its address is not a multiple of %zu\n", ptr,
                       ggml::kForeignAlignment);
        return nullptr;
    }
    return ggml::make_buffer(ggml::borrowed_type(), ggml::kBorrowed, ptr, size);
}

} // extern "C"
