#include "tests/support/test_device_memory.h"

#include "tests/support/test_device_compute.h"

#include <cstdlib>
#include <cstring>

namespace ggml::test {
namespace {

// Far outside what user programs can map, and a multiple of every alignment.
constexpr uintptr_t kFakeOffset = uintptr_t(1) << 60;

char * fake(void * real) { return reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(real) + kFakeOffset); }

TestDevice & device_of(ggml_backend_buffer_type_t buft) { return *static_cast<TestDevice *>(buft->context); }

void free_buffer(ggml_backend_buffer_t buffer) {
    device_of(buffer->buft).counters.bytes_in_use -= buffer->size;
    std::free(buffer->context);
}

void * get_base(ggml_backend_buffer_t buffer) {
    return device_of(buffer->buft).options.host_visible ? buffer->context : fake(buffer->context);
}

void memset_tensor(ggml_backend_buffer_t, ggml_tensor * t, uint8_t value, size_t offset, size_t size) {
    std::memset(real_memory(t->data) + offset, value, size);
}

void set_tensor(ggml_backend_buffer_t, ggml_tensor * t, const void * data, size_t offset, size_t size) {
    std::memcpy(real_memory(t->data) + offset, data, size);
}

void get_tensor(ggml_backend_buffer_t, const ggml_tensor * t, void * data, size_t offset, size_t size) {
    std::memcpy(data, real_memory(t->data) + offset, size);
}

bool cpy_tensor(ggml_backend_buffer_t buffer, const ggml_tensor * src, ggml_tensor * dst) {
    // Reaches the own memory only; between devices the caller goes through the host.
    if (!lies_in(device_of(buffer->buft), src)) return false;
    std::memmove(real_memory(dst->data), real_memory(src->data), ggml_nbytes(src));
    return true;
}

void clear(ggml_backend_buffer_t buffer, uint8_t value) { std::memset(buffer->context, value, buffer->size); }

constexpr ggml_backend_buffer_i kBuffer = {
    .free_buffer = free_buffer,
    .get_base = get_base,
    .init_tensor = nullptr,
    .memset_tensor = memset_tensor,
    .set_tensor = set_tensor,
    .get_tensor = get_tensor,
    .cpy_tensor = cpy_tensor,
    .clear = clear,
    .reset = nullptr,
};

const char * buft_name(ggml_backend_buffer_type_t buft) { return device_of(buft).options.name.c_str(); }

size_t buft_alignment(ggml_backend_buffer_type_t buft) { return device_of(buft).options.alignment; }

size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t buft, size_t size) {
    TestDevice & device = device_of(buft);
    if (size > device.options.memory - device.counters.bytes_in_use || size > device.options.max_buffer)
        return nullptr;
    void * memory = std::aligned_alloc(device.options.alignment, round_up(size, device.options.alignment));
    if (memory == nullptr) return nullptr;
    // Not zero: fresh device memory promises nothing.
    if (device.options.fill_memory) std::memset(memory, 0xa5, size);
    const size_t now = device.counters.bytes_in_use += size;
    size_t most = device.counters.most_bytes;
    while (now > most && !device.counters.most_bytes.compare_exchange_weak(most, now)) {
    }
    return make_buffer(buft, kBuffer, memory, size);
}

size_t max_size(ggml_backend_buffer_type_t buft) { return device_of(buft).options.max_buffer; }

size_t alloc_size(ggml_backend_buffer_type_t buft, const ggml_tensor * t) {
    return round_up(ggml_nbytes(t), buft_alignment(buft));
}

bool is_host(ggml_backend_buffer_type_t buft) { return device_of(buft).options.host_visible; }

constexpr ggml_backend_buffer_type_i kBufferType = {
    .get_name = buft_name,
    .alloc_buffer = alloc_buffer,
    .get_alignment = buft_alignment,
    .get_max_size = max_size,
    .get_alloc_size = alloc_size,
    .is_host = is_host,
};

} // namespace

char * real_memory(const void * fake) {
    const auto address = reinterpret_cast<uintptr_t>(fake);
    return reinterpret_cast<char *>(address >= kFakeOffset ? address - kFakeOffset : address);
}

ggml_backend_buffer_type make_buffer_type(TestDevice & device) {
    return {kBufferType, device.device(), &device};
}

void * real_address(const ggml_tensor * tensor) {
    return tensor->data != nullptr ? real_memory(tensor->data) : nullptr;
}

void * real_address(ggml_backend_buffer_t buffer) {
    return buffer != nullptr ? real_memory(ggml_backend_buffer_get_base(buffer)) : nullptr;
}

} // namespace ggml::test
