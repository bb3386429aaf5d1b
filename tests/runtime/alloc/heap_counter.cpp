// A file of its own: where the compiler sees malloc behind `new` and free behind `delete` in user code it
// warns about mismatched pairs.
#include "tests/runtime/alloc/heap_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<size_t> n_allocations = 0;
}

namespace ggml::test {
size_t heap_allocations() { return n_allocations; }
} // namespace ggml::test

void * operator new(size_t size) {
    ++n_allocations;
    if (void * memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
void * operator new(size_t size, const std::nothrow_t &) noexcept {
    ++n_allocations;
    return std::malloc(size);
}
void operator delete(void * memory) noexcept { std::free(memory); }
void operator delete(void * memory, size_t) noexcept { std::free(memory); }
