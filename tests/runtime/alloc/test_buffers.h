// A host buffer type with settable limits, so that tests decide alignment, largest buffer and when memory
// runs out.
#pragma once

#include "runtime/backend/interface.h"

#include <cstdlib>
#include <cstring>

namespace ggml::test {

class TestBuffers {
  public:
    explicit TestBuffers(size_t alignment = 32, size_t max_size = SIZE_MAX)
        : alignment(alignment), max_size(max_size), type_{kTypeInterface, nullptr, this} {}
    TestBuffers(const TestBuffers &) = delete;
    TestBuffers & operator=(const TestBuffers &) = delete;

    operator ggml_backend_buffer_type_t() { return &type_; }

    size_t alignment, max_size;
    size_t budget = SIZE_MAX;  // bytes that may still be allocated
    size_t extra_bytes = 0;    // added to every tensor's allocation size
    int n_buffers = 0;         // alive
    int n_allocated = 0;       // ever
    int n_resets = 0;          // buffers whose tensors were reset
    int failing_init = -1;     // this init_tensor call, counted from 0, fails
    unsigned char fill = 0xa5; // content of new memory

  private:
    static TestBuffers & of(ggml_backend_buffer_type_t buft) {
        return *static_cast<TestBuffers *>(buft->context);
    }
    static TestBuffers & of(ggml_backend_buffer_t buffer) { return of(buffer->buft); }

    static ggml_backend_buffer_t allocate(ggml_backend_buffer_type_t buft, size_t size) {
        TestBuffers & self = of(buft);
        if (size > self.budget) return nullptr;
        self.budget -= size;
        void * memory = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
        std::memset(memory, self.fill, size);
        ++self.n_buffers;
        ++self.n_allocated;
        return make_buffer(buft, kInterface, memory, size);
    }
    static void free_buffer(ggml_backend_buffer_t buffer) {
        of(buffer).budget += buffer->size;
        --of(buffer).n_buffers;
        std::free(buffer->context);
    }
    static void * base(ggml_backend_buffer_t buffer) { return buffer->context; }
    static ggml_status init(ggml_backend_buffer_t buffer, ggml_tensor *) {
        return of(buffer).failing_init-- == 0 ? GGML_STATUS_FAILED : GGML_STATUS_SUCCESS;
    }
    static void clear(ggml_backend_buffer_t buffer, uint8_t value) {
        std::memset(buffer->context, value, buffer->size);
    }
    static void reset(ggml_backend_buffer_t buffer) { ++of(buffer).n_resets; }

    static constexpr ggml_backend_buffer_type_i kTypeInterface = {
        .get_name = [](ggml_backend_buffer_type_t) { return "test"; },
        .alloc_buffer = allocate,
        .get_alignment = [](ggml_backend_buffer_type_t buft) { return of(buft).alignment; },
        .get_max_size = [](ggml_backend_buffer_type_t buft) { return of(buft).max_size; },
        .get_alloc_size = [](ggml_backend_buffer_type_t buft,
                             const ggml_tensor * t) { return ggml_nbytes(t) + of(buft).extra_bytes; },
        .is_host = [](ggml_backend_buffer_type_t) { return true; },
    };
    static constexpr ggml_backend_buffer_i kInterface = {
        .free_buffer = free_buffer,
        .get_base = base,
        .init_tensor = init,
        .memset_tensor = nullptr,
        .set_tensor = nullptr,
        .get_tensor = nullptr,
        .cpy_tensor = nullptr,
        .clear = clear,
        .reset = reset,
    };

    ggml_backend_buffer_type type_;
};

} // namespace ggml::test
