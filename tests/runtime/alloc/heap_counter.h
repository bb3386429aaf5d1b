// Number of heap allocations of this program so far. Linking heap_counter.cpp replaces operator new.
#pragma once

#include <cstddef>

namespace ggml::test {

size_t heap_allocations();

} // namespace ggml::test
