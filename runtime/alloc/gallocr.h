// What the rest of the runtime may ask the graph allocator beyond its public interface.
#pragma once

#include "ggml-alloc.h"

namespace ggml::alloc {

// Does the tensor lie in memory of this allocator?
bool gave_storage(const ggml_gallocr * galloc, const ggml_tensor * tensor);

} // namespace ggml::alloc
