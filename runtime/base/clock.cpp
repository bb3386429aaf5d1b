#include "ggml.h"

#include <chrono>
#include <ctime>

namespace {

template <class Unit>
int64_t monotonic() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<Unit>(now).count();
}

} // namespace

// The monotonic clock needs no preparation; the function exists because ggml's API asks callers to call it.
void ggml_time_init() {}

int64_t ggml_time_ms() { return monotonic<std::chrono::milliseconds>(); }

int64_t ggml_time_us() { return monotonic<std::chrono::microseconds>(); }

int64_t ggml_cycles() { return std::clock(); }

int64_t ggml_cycles_per_ms() { return CLOCKS_PER_SEC / 1000; }
