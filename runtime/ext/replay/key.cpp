#include "runtime/ext/replay/key.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

namespace ggml::ext {
namespace {

uint64_t identity(const void * pointer) { return uint64_t(reinterpret_cast<uintptr_t>(pointer)); }

template <class T>
bool same_bytes(const std::vector<T> & a, const std::vector<T> & b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
size_t hash_of(const std::vector<T> & values) {
    const auto * bytes = reinterpret_cast<const char *>(values.data());
    return std::hash<std::string_view>{}({bytes, values.size() * sizeof(T)});
}

} // namespace

bool operator==(const Key & a, const Key & b) noexcept {
    return a.stream == b.stream && a.workspace_bytes == b.workspace_bytes && a.n_nodes == b.n_nodes &&
           same_bytes(a.steps, b.steps) && same_bytes(a.tensors, b.tensors);
}

size_t Key::hash() const {
    return hash_of(tensors) ^ (hash_of(steps) * 3) ^ (stream * 5) ^ (workspace_bytes * 7) ^ n_nodes;
}

void KeyBuilder::grow() {
    std::vector<Slot> larger(std::max<size_t>(64, slots_.size() * 2), Slot{nullptr, 0, 0});
    slots_.swap(larger);
    round_ = 1;
    for (uint32_t i = 0; i < tensors_.size(); ++i) {
        size_t at = identity(tensors_[i]) * 0x9e3779b97f4a7c15u >> 32;
        while (slots_[at & (slots_.size() - 1)].round == round_) ++at;
        slots_[at & (slots_.size() - 1)] = {tensors_[i], i, round_};
    }
}

uint32_t KeyBuilder::number_of(const ggml_tensor * tensor) {
    if (tensor == nullptr) return kNoTensor;
    if (slots_.size() < 2 * (tensors_.size() + 1)) grow();
    size_t at = identity(tensor) * 0x9e3779b97f4a7c15u >> 32;
    for (;; ++at) {
        Slot & slot = slots_[at & (slots_.size() - 1)];
        if (slot.round == round_ && slot.tensor == tensor) return slot.number;
        if (slot.round == round_) continue;
        slot = {tensor, uint32_t(tensors_.size()), round_};
        tensors_.push_back(tensor);
        return slot.number;
    }
}

void KeyBuilder::build(const Plan & plan, uint64_t stream, Key & key) {
    tensors_.clear();
    if (++round_ == 0) {
        // Rounds have wrapped around: old marks would look new.
        slots_.assign(slots_.size(), Slot{nullptr, 0, 0});
        round_ = 1;
    }
    key.stream = stream;
    key.workspace_bytes = plan.workspace_bytes;
    key.n_nodes = uint32_t(plan.graph.n_nodes);
    key.tensors.clear();
    for (uint32_t i = 0; i < key.n_nodes; ++i) number_of(plan.graph.nodes[i]);
    for (uint32_t i = 0; i < tensors_.size(); ++i) {
        const ggml_tensor & t = *tensors_[i];
        KeyTensor & record = key.tensors.emplace_back();
        record.op = t.op;
        record.view_src = number_of(t.view_src);
        // What leads to tensors that are not computed here is not part of the work; what they show is.
        for (int j = 0; j < GGML_MAX_SRC; ++j)
            record.src[j] = i < key.n_nodes ? number_of(t.src[j]) : kNoTensor;
        record.type = t.type;
        record.flags = t.flags;
        std::memcpy(record.op_params, t.op_params, sizeof(record.op_params));
        for (int j = 0; j < GGML_MAX_DIMS; ++j) {
            record.ne[j] = t.ne[j];
            record.nb[j] = t.nb[j];
        }
        record.view_offs = t.view_offs;
        record.data = identity(t.data);
        record.buffer = identity(t.buffer);
        record.extra = identity(t.extra);
    }
    key.steps.clear();
    for (const Step & step : plan.steps) {
        key.steps.push_back(
            {identity(step.kernel), step.workspace_bytes, int32_t(step.kind), step.first, step.n, 0});
    }
}

} // namespace ggml::ext
