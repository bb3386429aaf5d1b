// What this room needs from the backend room, which implements it: several buffers that are freed and marked
// as one. Takes ownership of `buffers` even on failure, which is null.
#pragma once

#include "ggml-backend.h"

#include <cstddef>

namespace ggml {

ggml_backend_buffer_t make_multi_buffer(ggml_backend_buffer_t * buffers, size_t n_buffers);

} // namespace ggml
