// Map from tensor to a small number, on the heap. Promise: lookups never allocate; numbers are what the
// caller gave. Throws std::bad_alloc only from the constructor and reset().
#pragma once

#include "runtime/graph/graph.h"

#include <vector>

namespace ggml {

class TensorNumbers {
  public:
    static constexpr int kAbsent = -1;

    TensorNumbers() = default;
    explicit TensorNumbers(size_t most_tensors) { reset(most_tensors); }
    // The set points into the vector, which a copy would not follow.
    TensorNumbers(const TensorNumbers &) = delete;
    TensorNumbers & operator=(const TensorNumbers &) = delete;

    // Forgets everything and makes room.
    void reset(size_t most_tensors) {
        keys_.assign(TensorSet::capacity_for(most_tensors), nullptr);
        numbers_.assign(keys_.size(), kAbsent);
        set_.capacity = keys_.size();
        set_.keys = keys_.data();
    }

    int find(const ggml_tensor * tensor) const {
        const size_t slot = set_.find(tensor);
        return slot == TensorSet::npos ? kAbsent : numbers_[slot];
    }

    // The number the tensor has now: `number` when it is new, the old one when it was there.
    int insert(const ggml_tensor * tensor, int number) {
        const size_t slot = set_.insert(tensor);
        GGML_ASSERT(slot != TensorSet::npos); // more tensors than reset() was told
        if (numbers_[slot] == kAbsent) numbers_[slot] = number;
        return numbers_[slot];
    }

  private:
    TensorSet set_;
    std::vector<const ggml_tensor *> keys_;
    std::vector<int> numbers_;
};

} // namespace ggml
