// Several buffers behind one handle, for tensors that do not fit one buffer of their type. Promise: the parts
// are freed, cleared, reset and marked together; tensors keep pointing at their part, so data access never
// comes here.
#pragma once

#include "runtime/backend/interface.h"

#include <span>

namespace ggml {

// Empty for a buffer that is not made of parts.
std::span<const ggml_backend_buffer_t> multi_buffer_parts(ggml_backend_buffer_t buffer);

} // namespace ggml
