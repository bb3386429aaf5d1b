// Placing tensors in backend buffers: one after another (ggml_tallocr), a whole graph with reuse of storage
// (ggml_gallocr), or every tensor of a context (ggml_backend_alloc_ctx_tensors*).
//
// Promise: sizes are bytes; every address is a multiple of the buffer type's alignment; running out of memory
// is an answer (false, NULL or GGML_STATUS_ALLOC_FAILED), never a stop. None of the objects is thread-safe;
// distinct objects may be used by distinct threads.
#pragma once

#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ggml_backend_buffer_type * ggml_backend_buffer_type_t;
typedef struct ggml_backend_buffer * ggml_backend_buffer_t;
typedef struct ggml_backend * ggml_backend_t;

//
// Linear allocator
//

// Hands out a buffer front to back and never takes anything back. A plain value: it owns nothing, copying it
// copies the position. `buffer` must outlive its use.
struct ggml_tallocr {
    ggml_backend_buffer_t buffer;
    void * base;      // first byte of the buffer
    size_t alignment; // of every tensor placed
    size_t offset;    // bytes used so far, counted from base
};

GGML_API struct ggml_tallocr ggml_tallocr_new(ggml_backend_buffer_t buffer);

// Places a tensor that has no storage yet (not a view) and advances by its aligned allocation size. Returns
// GGML_STATUS_ALLOC_FAILED, leaving tensor and allocator unchanged, when the rest of the buffer is too small.
GGML_API enum ggml_status ggml_tallocr_alloc(struct ggml_tallocr * talloc, struct ggml_tensor * tensor);

//
// Graph allocator
//

// Plans storage for all tensors of a graph that have none: a block is reused once the last reader of the
// tensor in it has run, and operators that may run in place take over the storage of a source that dies with
// them.
//
//   ggml_gallocr_t alloc = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
//   ggml_gallocr_reserve(alloc, largest_graph);             // optional: later graphs then never reallocate
//   ggml_gallocr_alloc_graph(alloc, graph);                 // gives the graph's tensors their addresses
//   ggml_backend_graph_compute(backend, graph);
//
// Tensor flags that matter here: ggml_set_input - placed before anything else is, so inputs do not overlap
// each other; ggml_set_output - never reused, never overwritten.
//
// Storage handed to one graph is valid until the next reserve/alloc call or ggml_gallocr_free.
typedef struct ggml_gallocr * ggml_gallocr_t;

// One buffer type, or n_bufs of them (the same type may be listed more than once; equal types share a
// buffer). The arrays are copied. NULL when out of memory.
GGML_API ggml_gallocr_t ggml_gallocr_new(ggml_backend_buffer_type_t buft);
GGML_API ggml_gallocr_t ggml_gallocr_new_n(ggml_backend_buffer_type_t * bufts, int n_bufs);

// Frees the buffers too: tensors placed by this allocator lose their storage. NULL is allowed.
GGML_API void ggml_gallocr_free(ggml_gallocr_t galloc);

// Makes the buffers large enough for this graph without touching its tensors. False: a buffer could not be
// allocated. The _n form says which buffer each node and leaf goes to (arrays of n_nodes and n_leafs ids;
// NULL: 0).
GGML_API bool ggml_gallocr_reserve(ggml_gallocr_t galloc, struct ggml_cgraph * graph);
GGML_API bool ggml_gallocr_reserve_n(ggml_gallocr_t galloc, struct ggml_cgraph * graph,
                                     const int * node_buffer_ids, const int * leaf_buffer_ids);

// The sizes ggml_gallocr_reserve_n would allocate, one entry per buffer, without allocating. An entry of a
// buffer that is shared with an earlier id is 0.
GGML_API void ggml_gallocr_reserve_n_size(ggml_gallocr_t galloc, struct ggml_cgraph * graph,
                                          const int * node_buffer_ids, const int * leaf_buffer_ids,
                                          size_t * sizes);

// Gives every tensor of the graph its storage. With one buffer a graph that does not fit the plan is planned
// anew; with several the answer is then false, because only ggml_gallocr_reserve_n knows the buffer ids.
GGML_API bool ggml_gallocr_alloc_graph(ggml_gallocr_t galloc, struct ggml_cgraph * graph);

// Bytes of the buffer with this id; 0 if nothing was reserved or it is shared with an earlier id.
GGML_API size_t ggml_gallocr_get_buffer_size(ggml_gallocr_t galloc, int buffer_id);

// The listed tensors get no storage in the graphs allocated from now on (something executes the graph without
// ever writing them). The set replaces the previous one; n_tensors 0 empties it. The array is copied, the
// tensors are only compared by address. Changing which tensors are skipped invalidates cached assignments, so
// that the next ggml_gallocr_alloc_graph plans anew even when no shape changed. A skipped tensor keeps data
// and buffer NULL.
GGML_API void ggml_gallocr_set_skipped_tensors(ggml_gallocr_t galloc, struct ggml_tensor * const * tensors,
                                               size_t n_tensors);

//
// All tensors of a context
//

// Creates the buffer(s) for every tensor of the context that has no storage, and initialises its views. The
// caller owns the result and frees it with ggml_backend_buffer_free before or after the context. NULL when
// memory is short, and also when there is nothing to allocate. More than one buffer is needed when the total
// exceeds the type's maximum size; they then appear as one.
GGML_API struct ggml_backend_buffer *
ggml_backend_alloc_ctx_tensors_from_buft(struct ggml_context * ctx, ggml_backend_buffer_type_t buft);
GGML_API struct ggml_backend_buffer * ggml_backend_alloc_ctx_tensors(struct ggml_context * ctx,
                                                                     ggml_backend_t backend);

// Bytes the call above would allocate.
GGML_API size_t ggml_backend_alloc_ctx_tensors_from_buft_size(struct ggml_context * ctx,
                                                              ggml_backend_buffer_type_t buft);

#ifdef __cplusplus
}
#endif
