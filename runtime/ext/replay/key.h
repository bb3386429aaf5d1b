// What recorded work depends on, as bytes. Promise: complete and exact. Equal keys mean equal bytes, nothing
// is hashed away, and comparing follows no pointer: a key stays good when the graph it was made from is gone.
//
// Tensors are numbered: the nodes of the plan in order, then what they read or show, by first appearance. So
// equal graphs have equal keys wherever their metadata lies.
#pragma once

#include "runtime/ext/plan/plan.h"

#include <cstdint>
#include <type_traits>
#include <vector>

namespace ggml::ext {

inline constexpr uint32_t kNoTensor = UINT32_MAX;

struct KeyTensor {
    int32_t op;
    uint32_t view_src; // number, or kNoTensor
    uint32_t src[GGML_MAX_SRC];
    int32_t type, flags;
    int32_t op_params[GGML_MAX_OP_PARAMS / sizeof(int32_t)];
    int64_t ne[GGML_MAX_DIMS];
    uint64_t nb[GGML_MAX_DIMS];
    uint64_t view_offs;
    uint64_t data, buffer, extra;
};

struct KeyStep {
    uint64_t kernel; // which registration; 0: the device itself
    uint64_t workspace_bytes;
    int32_t kind, first, n, padding;
};

// Compared as bytes, so there must be none that nobody wrote.
static_assert(std::has_unique_object_representations_v<KeyTensor>);
static_assert(std::has_unique_object_representations_v<KeyStep>);

struct Key {
    uint64_t stream = 0;
    uint64_t workspace_bytes = 0; // of the plan
    uint32_t n_nodes = 0;
    std::vector<KeyTensor> tensors; // [0, n_nodes): the nodes
    std::vector<KeyStep> steps;

    size_t hash() const; // for what need not be exact
};

bool operator==(const Key & a, const Key & b) noexcept;

// Makes keys again and again in the same memory, as replaying a plan needs one for each execution.
class KeyBuilder {
  public:
    void build(const Plan & plan, uint64_t stream, Key & key);

    // Of the last key, while its graph exists.
    const ggml_tensor * tensor(uint32_t number) const { return tensors_[number]; }

  private:
    struct Slot {
        const ggml_tensor * tensor;
        uint32_t number, round; // used in this round, else free
    };
    uint32_t number_of(const ggml_tensor * tensor);
    void grow();

    std::vector<Slot> slots_; // open addressing, a power of two, at most half full
    uint32_t round_ = 0;
    std::vector<const ggml_tensor *> tensors_;
};

} // namespace ggml::ext
