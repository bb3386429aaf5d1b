// What the scheduler knows about each tensor of a graph, in dense slots. Promise: a lookup is one probe
// sequence in a flat table; nothing is allocated per tensor; clearing keeps the memory. Tensors are compared
// by address and never dereferenced by the table itself.
#pragma once

#include "ggml.h"

#include <cstdint>
#include <vector>

namespace ggml::sched {

inline constexpr int kNoBackend = -1;
inline constexpr int32_t kNoSlot = -1;

struct TensorState {
    ggml_tensor * tensor;
    int32_t owner = kNoSlot;      // slot of the tensor this one is a view of
    int32_t group = kNoSlot;      // slot of the owner whose storage nodes write in place, see groups.cpp
    int16_t backend = kNoBackend; // who computes it, or where it lies; in a group, the owner's counts
    uint16_t asked = 0;           // bit per backend: supports_op has been asked ...
    uint16_t supported = 0;       // ... and was answered yes; in a group, by all of it
};

class TensorTable {
  public:
    // Room for n tensors without growing.
    void reserve(size_t n);
    void clear();

    int32_t find(const ggml_tensor * tensor) const; // kNoSlot when unknown
    int32_t insert(ggml_tensor * tensor);           // existing or new slot

    TensorState & operator[](int32_t slot) { return states_[size_t(slot)]; }
    const TensorState & operator[](int32_t slot) const { return states_[size_t(slot)]; }
    size_t size() const { return states_.size(); }

  private:
    void rehash(size_t capacity);
    size_t home(const ggml_tensor * tensor) const;

    std::vector<int32_t> index_; // slot or kNoSlot; power-of-two size, at most half full
    std::vector<TensorState> states_;
};

} // namespace ggml::sched
