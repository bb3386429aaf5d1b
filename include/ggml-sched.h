// Spreads a graph over several backends: decides who runs each node, cuts the graph into splits of one
// backend each, allocates what has no storage, copies inputs of a split that lie elsewhere, and runs the
// splits in order.
//
// A node goes to the backend set by the caller, else where its pre-allocated result or its weights (buffers
// marked GGML_BACKEND_BUFFER_USAGE_WEIGHTS) are if that backend can run it, else where its neighbours run.
// Backends listed first win; the last one must be able to run everything, normally the CPU.
//
//   sched = ggml_backend_sched_new(backends, NULL, n, GGML_DEFAULT_GRAPH_SIZE, false, true);
//   ggml_backend_sched_reserve(sched, largest_graph);      // optional
//   for each new graph:
//       ggml_backend_sched_reset(sched);                   // forget the previous graph
//       ggml_backend_sched_alloc_graph(sched, graph);
//       ... set inputs ...
//       ggml_backend_sched_graph_compute(sched, graph);    // any number of times
//
// A graph is given storage once; after a reset its tensors are to be thrown away, not reused.
//
// One thread at a time uses a scheduler. Missing memory and a node that no backend can run are answers (false
// or a status), with a log line that names the node.
#pragma once

#include "ggml-backend.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ggml_backend_sched * ggml_backend_sched_t;

// Called while a graph is computed. ask true: does the caller want to see this node? ask false: here it is,
// computed and synchronized; returning false ends the computation with GGML_STATUS_ABORTED. Nodes nobody asks
// for are run in groups.
typedef bool (*ggml_backend_sched_eval_callback)(struct ggml_tensor * t, bool ask, void * user_data);

// bufts: the buffer type each backend computes in, NULL for their defaults. graph_size: nodes expected, a
// hint. parallel: keep several copies of the inputs, so that a graph can be queued while the previous one
// still runs. op_offload: a backend may take nodes whose weights lie in host memory (see
// ggml_backend_dev_offload_op). The arrays are copied; the backends stay the caller's and must outlive the
// scheduler. NULL when out of memory.
GGML_API ggml_backend_sched_t ggml_backend_sched_new(ggml_backend_t * backends,
                                                     ggml_backend_buffer_type_t * bufts, int n_backends,
                                                     size_t graph_size, bool parallel, bool op_offload);
GGML_API void ggml_backend_sched_free(ggml_backend_sched_t sched); // NULL is allowed

// Allocates the buffers a graph would need, without giving them to its tensors; false when memory is short.
// The _size form only fills sizes[n_backends] with the bytes per backend. Both leave the scheduler reset.
GGML_API bool ggml_backend_sched_reserve(ggml_backend_sched_t sched, struct ggml_cgraph * measure_graph);
GGML_API void ggml_backend_sched_reserve_size(ggml_backend_sched_t sched, struct ggml_cgraph * measure_graph,
                                              size_t * sizes);

GGML_API int ggml_backend_sched_get_n_backends(ggml_backend_sched_t sched);
GGML_API ggml_backend_t ggml_backend_sched_get_backend(ggml_backend_sched_t sched, int i);

// Splits of the last graph; number of input copies kept (1 unless parallel).
GGML_API int ggml_backend_sched_get_n_splits(ggml_backend_sched_t sched);
GGML_API int ggml_backend_sched_get_n_copies(ggml_backend_sched_t sched);

// The buffer type used for a backend and the bytes currently allocated for it.
GGML_API ggml_backend_buffer_type_t ggml_backend_sched_get_buffer_type(ggml_backend_sched_t sched,
                                                                       ggml_backend_t backend);
GGML_API size_t ggml_backend_sched_get_buffer_size(ggml_backend_sched_t sched, ggml_backend_t backend);

// Says who runs a node, before the graph is split. Get gives what was set or decided; NULL: nothing yet.
GGML_API void ggml_backend_sched_set_tensor_backend(ggml_backend_sched_t sched, struct ggml_tensor * node,
                                                    ggml_backend_t backend);
GGML_API ggml_backend_t ggml_backend_sched_get_tensor_backend(ggml_backend_sched_t sched,
                                                              struct ggml_tensor * node);

// Assigns and cuts without allocating. Sources of a node that lie on another backend are replaced by copies
// in the graph itself, until the graph is allocated or the scheduler is reset.
GGML_API void ggml_backend_sched_split_graph(ggml_backend_sched_t sched, struct ggml_cgraph * graph);

// Assigns, cuts and allocates; false when memory is short.
GGML_API bool ggml_backend_sched_alloc_graph(ggml_backend_sched_t sched, struct ggml_cgraph * graph);

// Computes the graph, allocating it first if that has not been done. The async form returns before the work
// is done where backends allow it; wait with ggml_backend_sched_synchronize.
GGML_API enum ggml_status ggml_backend_sched_graph_compute(ggml_backend_sched_t sched,
                                                           struct ggml_cgraph * graph);
GGML_API enum ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t sched,
                                                                 struct ggml_cgraph * graph);
GGML_API void ggml_backend_sched_synchronize(ggml_backend_sched_t sched);

// Forgets assignments and storage of the last graph. Needed before another graph is allocated and before
// backends are set for its nodes.
GGML_API void ggml_backend_sched_reset(ggml_backend_sched_t sched);

// NULL removes the callback.
GGML_API void ggml_backend_sched_set_eval_callback(ggml_backend_sched_t sched,
                                                   ggml_backend_sched_eval_callback callback,
                                                   void * user_data);

#ifdef __cplusplus
}
#endif
