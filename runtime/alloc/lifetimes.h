// When the storage of each tensor is needed for the last time. Pure metadata. Promise: whoever may still read
// a byte - through a view, as a source of something executed later, or as the caller after the graph has run
// - keeps it alive.
#pragma once

#include "runtime/alloc/graph_tensors.h"

#include <climits>
#include <vector>

namespace ggml::alloc {

inline constexpr int kNeverUsed = -1;
inline constexpr int kForever = INT_MAX;

struct Lifetimes {
    std::vector<bool> skipped;     // by id: in the skip set, or a view of something in it
    std::vector<int> storage_last; // by id of an owner: last node that needs it, kForever: the caller does
};

// skipped_set: null for none.
Lifetimes find_lifetimes(const GraphTensors & tensors, const TensorNumbers * skipped_set);

} // namespace ggml::alloc
