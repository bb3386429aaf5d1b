// Public access to the inside of a compute graph, for callers that cut, copy or measure graphs.
//
// Promise: every function is host logic over metadata except ggml_backend_graph_compute_range, which runs
// nodes. A wrong argument gives a status (or 0/NULL where noted) and leaves the graph unchanged. Graphs are
// not locked: no other thread may change a graph while it is read here.
#pragma once

#include "ggml-backend.h"
#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

//
// Leafs: the constants and inputs of a graph, in the order they were met
//

GGML_API int ggml_graph_n_leafs(const struct ggml_cgraph * graph);

// Leaf number i; negative counts from the end (-1 is the last). NULL when out of range.
GGML_API struct ggml_tensor * ggml_graph_leaf(const struct ggml_cgraph * graph, int i);

// Appends a leaf. Existing leafs, nodes and counts stay as they are; the new leaf starts with no consumers.
// GGML_STATUS_FAILED when tensor is NULL or already in the graph; GGML_STATUS_ALLOC_FAILED when the graph is
// full.
GGML_API enum ggml_status ggml_graph_add_leaf(struct ggml_cgraph * graph, struct ggml_tensor * tensor);

//
// Use counts: how many nodes of the graph read a tensor (a node that reads it twice counts twice)
//

// Recorded consumers of a tensor; 0 when the graph does not know it. In a view of a graph the counts are
// those of the original, so consumers outside the view are included.
GGML_API int32_t ggml_graph_use_count(const struct ggml_cgraph * graph, const struct ggml_tensor * tensor);

// The same for node number i, negative from the end; 0 when out of range.
GGML_API int32_t ggml_graph_node_use_count(const struct ggml_cgraph * graph, int i);

//
// Copies
//

// Names the tensor that stands for `tensor` in a copy of a graph. NULL: there is none, which makes the copy
// fail. Must give the same answer each time it is asked for the same tensor.
typedef struct ggml_tensor * (*ggml_graph_tensor_map)(const struct ggml_tensor * tensor, void * user_data);

// Fills dst with the mapped nodes and leafs of src, in src's order, replacing whatever dst held. The caller
// owns the tensor copies and has already given them their storage and edges. Consumer counts come from src as
// recorded, including those of tensors that the nodes read but that src does not list (a view lists no leafs)
// and including consumers outside a view.
//
// The mapping is asked for every node, every leaf and every source of a node. It is valid when no answer is
// NULL, different tensors have different answers, and each source of a mapped node is the mapped source of
// the original (null where the original has none). Otherwise GGML_STATUS_FAILED; GGML_STATUS_ALLOC_FAILED
// when dst (its ggml_graph_size) is too small. In both cases dst is unchanged. dst and src must be different
// graphs.
GGML_API enum ggml_status ggml_graph_copy_mapped(struct ggml_cgraph * dst, const struct ggml_cgraph * src,
                                                 ggml_graph_tensor_map map, void * user_data);

// For a segment: dst holds some of the nodes (and maybe leafs) of src, the same tensors. Sets the counts of
// dst's nodes, leafs and of all sources of its nodes to what src records, so that a tensor another segment
// still needs does not look unused. GGML_STATUS_FAILED, dst unchanged, when src does not know one of them;
// GGML_STATUS_ALLOC_FAILED, dst unchanged, when dst cannot record that many tensors.
GGML_API enum ggml_status ggml_graph_copy_use_counts(struct ggml_cgraph * dst,
                                                     const struct ggml_cgraph * src);

//
// Execution
//

// Runs nodes [first, first + n) of a graph whose tensors all have storage, in order, and waits for the
// result. The backend sees the consumer counts of the whole graph, so it never treats a tensor that is read
// outside the range as a temporary. n == 0 succeeds and runs nothing. GGML_STATUS_FAILED when the range
// leaves the graph.
GGML_API enum ggml_status ggml_backend_graph_compute_range(ggml_backend_t backend, struct ggml_cgraph * graph,
                                                           int first, int n);

#ifdef __cplusplus
}
#endif
