// Context arena: tensors, graphs and small buffers are carved from one block of memory in order of creation
// and freed together. A request that does not fit stops with the size needed (ggml's API has no other
// answer), except in `try_` functions, which return null. Not thread-safe: one thread builds in a context at
// a time.
#pragma once

#include "runtime/tensor/layout.h"

namespace ggml {

// Raw aligned object (GGML_MEM_ALIGN) in the arena.
void * arena_new(ggml_context * ctx, ggml_object_type type, size_t bytes);
void * arena_try_new(ggml_context * ctx, ggml_object_type type, size_t bytes);

// Whether an object of this size still fits.
bool arena_has_room(const ggml_context * ctx, size_t bytes);

// Bytes an object of this size takes from the arena, header included.
size_t arena_object_bytes(size_t bytes);

// Tensor of a view or of its own storage. view_src null: own storage (allocated in the arena unless
// no_alloc). A view of a view is flattened onto the owner, with offsets added. Strides are contiguous for
// (type, ne).
ggml_tensor * new_tensor_impl(ggml_context * ctx, ggml_type type, int n_dims, const int64_t * ne,
                              ggml_tensor * view_src, size_t view_offs);

// Tensor with storage of its own. Null when there is no such type or shape, or no room for it.
ggml_tensor * try_new_tensor(ggml_context * ctx, ggml_type type, const Shape & ne);

} // namespace ggml
