// Inside of a compute graph. Nodes are in execution order: every source of a node is a leaf or an earlier
// node. A graph created in a context lives in that context's arena and owns nothing else.
#pragma once

#include "ggml.h"

#include <cstdint>

namespace ggml {

// Open-addressing set of tensors with a counter per slot. Memory belongs to whoever embeds it.
struct TensorSet {
    size_t capacity = 0;                 // number of slots, prime or power of two as the implementation likes
    const ggml_tensor ** keys = nullptr; // null: free slot

    static constexpr size_t npos = size_t(-1);
    size_t find(const ggml_tensor * key) const; // slot or npos
    size_t count() const;                       // keys in the set; walks all slots
    size_t insert(const ggml_tensor * key);     // slot of the key, inserted if absent; npos when full
    void clear();
    static size_t capacity_for(size_t n_tensors); // slots needed to keep probes short
};

} // namespace ggml

struct ggml_cgraph {
    int size; // most nodes (and most leafs) it can hold
    int n_nodes;
    int n_leafs;
    ggml_tensor ** nodes; // computed tensors
    ggml_tensor ** leafs; // constants and inputs
    int32_t * use_counts; // consumers of each visited tensor, indexed by slot in `visited`
    ggml::TensorSet visited;
    uint64_t uid; // 0: none. Equal non-zero values promise equal graphs
};

namespace ggml {

// A number no graph of this process has had. Backends keep what they prepared for a graph under its number.
uint64_t next_graph_uid();

// Nodes [first, first + n) of a graph as a graph of its own. Shares nodes, use counts and the visited set
// with the original (so consumers outside the range still count); has no leafs.
ggml_cgraph graph_view(ggml_cgraph * graph, int first, int n);

// ggml_build_forward_expand for callers that can answer when memory runs out: throws std::bad_alloc, where
// the public function has to stop the process. What was added by then stays.
void build_forward(ggml_cgraph * graph, ggml_tensor * tensor);

// Consumers of a tensor among the nodes of the (original) graph; 0 for a tensor it does not contain.
int32_t use_count(const ggml_cgraph * graph, const ggml_tensor * tensor);

// True for nodes that only describe storage (NONE, RESHAPE, VIEW, PERMUTE, TRANSPOSE) and run no code.
bool op_is_metadata_only(ggml_op op);

} // namespace ggml
