// Where C calls in and C++ may run out of memory. Promise: no exception passes.
#pragma once

#include "runtime/ext/verdict/verdict.h"

namespace ggml::ext {

// body() -> ggml_ext_status, which may throw std::bad_alloc and nothing else; `purpose` completes "no memory
// to".
template <class Body>
ggml_ext_status guarded(const char * purpose, Body body) noexcept {
    try {
        return body();
    } catch (...) {
        return answer(GGML_EXT_NO_MEMORY, GGML_EXT_REASON_NO_MEMORY, "no memory to %s", purpose);
    }
}

} // namespace ggml::ext
