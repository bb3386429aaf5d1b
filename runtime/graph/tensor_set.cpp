#include "runtime/graph/graph.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ggml {
namespace {

// Tensors of a context lie at a constant stride, so the low address bits repeat. Multiplying by 2^64 / phi
// spreads them over the high bits, and the high half of the product with the capacity picks the slot.
size_t first_slot(const ggml_tensor * key, size_t capacity) {
    const uint64_t mixed = uint64_t(reinterpret_cast<uintptr_t>(key)) * 0x9e3779b97f4a7c15u;
    return size_t((static_cast<unsigned __int128>(mixed) * capacity) >> 64);
}

// Slot that holds the key, or the free slot where it belongs; npos when neither exists.
size_t probe(const TensorSet & set, const ggml_tensor * key) {
    if (set.capacity == 0) return TensorSet::npos;
    const size_t start = first_slot(key, set.capacity);
    for (size_t slot = start;;) {
        if (set.keys[slot] == key || set.keys[slot] == nullptr) return slot;
        slot = slot + 1 == set.capacity ? 0 : slot + 1;
        if (slot == start) return TensorSet::npos;
    }
}

} // namespace

size_t TensorSet::find(const ggml_tensor * key) const {
    const size_t slot = probe(*this, key);
    return slot != npos && keys[slot] == key && key != nullptr ? slot : npos;
}

size_t TensorSet::insert(const ggml_tensor * key) {
    const size_t slot = probe(*this, key);
    if (slot != npos) keys[slot] = key;
    return slot;
}

void TensorSet::clear() { std::fill_n(keys, capacity, nullptr); }

size_t TensorSet::count() const { return capacity - size_t(std::count(keys, keys + capacity, nullptr)); }

size_t TensorSet::capacity_for(size_t n_tensors) {
    // Load stays below 2/3, where linear probing needs about two looks for a hit. One slot is always free, so
    // that looking for an absent key ends early.
    return n_tensors + n_tensors / 2 + 1;
}

} // namespace ggml
