// Offsets for every tensor of a graph that has no storage. A pure function of graph metadata, buffer ids and
// the skip set: no tensor, buffer or device is touched. Promise: two tensors share bytes only if the first is
// dead when the second is written, or the second is an in-place result over the first.
#pragma once

#include "runtime/alloc/graph_tensors.h"

#include <cstddef>
#include <span>
#include <vector>

namespace ggml::alloc {

// One buffer type as the planner sees it.
struct BufferSpec {
    size_t alignment = 1;
    size_t max_chunk = SIZE_MAX;
    size_t (*tensor_bytes)(const ggml_tensor * tensor, const void * context) = nullptr; // null: ggml_nbytes
    const void * context = nullptr;
    int memory = 0; // equal numbers share memory; the number of the first such spec

    size_t bytes_of(const ggml_tensor * t) const {
        return tensor_bytes != nullptr ? tensor_bytes(t, context) : ggml_nbytes(t);
    }
};

enum class Storage : uint8_t {
    kOutside, // has storage that this plan does not manage, or is planned under an earlier id
    kPlaced,  // gets its own block
    kView,    // shows the storage of view_src
    kSkipped, // gets none
};

struct TensorPlan {
    Storage storage = Storage::kOutside;
    uint8_t flags = 0;      // INPUT and OUTPUT at the time of planning
    int16_t buffer = 0;     // of a placed tensor: index into the specs
    int32_t chunk = 0;      //
    size_t offset = 0;      //
    size_t bytes = 0;       // room for its data
    Id in_place_of = kNoId; // source whose bytes it takes over
    Id shown = kNoId;       // of a view: view_src, kNoId when the graph does not contain it
};

struct GraphPlan {
    GraphLayout layout;
    std::vector<TensorPlan> tensors; // by id
    std::vector<Id> leafs, nodes;    // id of each: its own, or an earlier one if it is listed twice
    std::vector<ggml_op> ops;        // of each node
    std::vector<Id> edges;           // ids of the sources of all nodes, one node after another
    std::vector<uint32_t> edges_end; // of each node
    std::vector<Id> permanent;       // leafs with a block that nothing else ever uses: marked as outputs
    std::vector<Id> placed, views;   // in an order in which storage can be given
    std::vector<std::vector<size_t>>
        chunk_sizes; // by spec; empty for specs that share an earlier one's memory
};

struct PlanRequest {
    const ggml_cgraph * graph = nullptr;
    const int * node_buffers = nullptr; // null: all 0
    const int * leaf_buffers = nullptr;
    std::span<const BufferSpec> specs;
    const TensorNumbers * skipped = nullptr; // null: none
};

// False, with a log line, when a buffer id is out of range or sizes overflow. Throws only std::bad_alloc.
[[nodiscard]] bool make_plan(const PlanRequest & request, GraphPlan & plan);

// Is the plan right for this graph - same operators, edges, flags and skipped tensors, nothing larger,
// nothing newly without storage? Does not allocate. Buffer ids are not part of the question.
[[nodiscard]] bool plan_fits(const GraphPlan & plan, const PlanRequest & request);

inline bool has_storage(const ggml_tensor * t) { return t->data != nullptr || t->buffer != nullptr; }

// Elements of the two correspond byte for byte.
bool same_layout(const ggml_tensor * a, const ggml_tensor * b);

inline uint8_t planned_flags(const ggml_tensor * t) {
    return uint8_t(t->flags & (GGML_TENSOR_FLAG_INPUT | GGML_TENSOR_FLAG_OUTPUT));
}

} // namespace ggml::alloc
