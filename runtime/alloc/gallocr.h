// What the rest of the runtime may ask the graph allocator beyond its public interface.
#pragma once

#include "ggml-alloc.h"

namespace ggml::alloc {

// Does the tensor lie in memory of this allocator?
bool gave_storage(const ggml_gallocr * galloc, const ggml_tensor * tensor);

// ggml_gallocr_set_skipped_tensors for callers that can answer when memory runs out: throws std::bad_alloc
// and leaves no tensor skipped, where the public function has to stop the process.
void set_skipped(ggml_gallocr * galloc, ggml_tensor * const * tensors, size_t n_tensors);

} // namespace ggml::alloc
