// A file of its own: where the compiler sees malloc behind `new` and free behind `delete` in user code it
// warns about mismatched pairs.
#include "tests/runtime/ext/registry/failing_heap.h"

#include <cstdlib>
#include <new>

namespace {

thread_local int left = -1; // negative: as many as malloc has
thread_local bool refused = false;

void * allocate(size_t size) {
    if (left == 0) {
        refused = true;
        return nullptr;
    }
    if (left > 0) --left;
    return std::malloc(size);
}

} // namespace

namespace ggml::test {

HeapOf::HeapOf(int n) {
    left = n;
    refused = false;
}
HeapOf::~HeapOf() { left = -1; }
bool HeapOf::ran_out() const { return refused; }

} // namespace ggml::test

void * operator new(size_t size) {
    if (void * memory = allocate(size)) return memory;
    throw std::bad_alloc();
}
void * operator new(size_t size, const std::nothrow_t &) noexcept { return allocate(size); }
void operator delete(void * memory) noexcept { std::free(memory); }
void operator delete(void * memory, size_t) noexcept { std::free(memory); }
void operator delete(void * memory, const std::nothrow_t &) noexcept { std::free(memory); }
