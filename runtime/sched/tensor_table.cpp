#include "runtime/sched/tensor_table.h"

#include <algorithm>
#include <bit>

namespace ggml::sched {

void TensorTable::reserve(size_t n) {
    states_.reserve(n);
    const size_t capacity = std::bit_ceil(std::max<size_t>(2 * n, 64));
    if (capacity > index_.size()) rehash(capacity);
}

void TensorTable::clear() {
    states_.clear();
    std::fill(index_.begin(), index_.end(), kNoSlot);
}

size_t TensorTable::home(const ggml_tensor * tensor) const {
    // Tensors lie at multiples of a few hundred bytes; the multiplication spreads them over the high bits.
    const uint64_t mixed = uint64_t(reinterpret_cast<uintptr_t>(tensor) >> 4) * 0x9e3779b97f4a7c15u;
    return size_t(mixed >> 32) & (index_.size() - 1);
}

int32_t TensorTable::find(const ggml_tensor * tensor) const {
    if (index_.empty()) return kNoSlot;
    for (size_t i = home(tensor);; i = (i + 1) & (index_.size() - 1)) {
        if (index_[i] == kNoSlot || states_[size_t(index_[i])].tensor == tensor) return index_[i];
    }
}

int32_t TensorTable::insert(ggml_tensor * tensor) {
    if (2 * (states_.size() + 1) > index_.size()) reserve(2 * (states_.size() + 1));
    size_t i = home(tensor);
    while (index_[i] != kNoSlot) {
        if (states_[size_t(index_[i])].tensor == tensor) return index_[i];
        i = (i + 1) & (index_.size() - 1);
    }
    const int32_t slot = int32_t(states_.size());
    states_.push_back({.tensor = tensor});
    index_[i] = slot;
    return slot;
}

void TensorTable::rehash(size_t capacity) {
    index_.assign(capacity, kNoSlot);
    for (size_t slot = 0; slot < states_.size(); ++slot) {
        size_t i = home(states_[slot].tensor);
        while (index_[i] != kNoSlot) i = (i + 1) & (capacity - 1);
        index_[i] = int32_t(slot);
    }
}

} // namespace ggml::sched
