// The part of Weights that is about groups and their places in memory.
#include "base/error.h"
#include "base/size_text.h"
#include "ggml-alloc.h"
#include "nn/weights.h"
#include "place/layer_split.h"

#include <algorithm>
#include <new>

namespace sd {
namespace {

// As ggml_tallocr places it.
uint64_t padded_bytes(ggml_backend_buffer_type_t type, const ggml_tensor * tensor) {
    const uint64_t unit = ggml_backend_buft_get_alignment(type);
    return (ggml_backend_buft_get_alloc_size(type, tensor) + unit - 1) / unit * unit;
}

[[noreturn]] void refuse_size(uint64_t bytes, ggml_backend_buffer_type_t type) {
    throw Error({"E_MEMORY",
                 {},
                 {},
                 "the weights need " + size_text(bytes) + " of the memory of " +
                     ggml_backend_buft_name(type) + ", which has less",
                 {}});
}

void put(ggml_backend_buffer_t buffer, const std::vector<ggml_tensor *> & tensors, uint64_t bytes) {
    ggml_tallocr place = ggml_tallocr_new(buffer);
    for (ggml_tensor * t : tensors) {
        t->data = nullptr;
        t->buffer = nullptr;
        if (ggml_tallocr_alloc(&place, t) != GGML_STATUS_SUCCESS)
            refuse_size(bytes, ggml_backend_buffer_get_type(buffer));
    }
}

} // namespace

void Weights::begin_group(const std::string & name, bool block) {
    // What was begun and got nothing is no group.
    if (!groups_.back().jobs.empty()) groups_.emplace_back();
    groups_.back().name = name;
    groups_.back().block = block;
}

void Weights::spread(const std::vector<uint64_t> & room) {
    std::vector<uint64_t> blocks;
    uint64_t rest = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
        if (groups_[g].block)
            blocks.push_back(group_allocated(g));
        else
            rest += group_allocated(g);
    }
    const std::vector<size_t> devices = split_layers(blocks, rest, room);
    size_t next = 0;
    for (Group & group : groups_) group.memory = group.block ? devices[next++] : 0;
}

std::vector<size_t> Weights::groups_in(size_t memory) const {
    std::vector<size_t> groups;
    for (size_t g = 0; g < groups_.size(); ++g) {
        if (groups_[g].memory == memory) groups.push_back(g);
    }
    return groups;
}

size_t Weights::blocks_in(size_t memory) const {
    return size_t(std::count_if(groups_.begin(), groups_.end(),
                                [&](const Group & g) { return g.block && g.memory == memory; }));
}

uint64_t Weights::bytes_allocated(size_t memory) const {
    uint64_t bytes = 0;
    for (const size_t g : groups_in(memory)) {
        for (const LoadJob & job : groups_[g].jobs) bytes += ggml_nbytes(job.tensor);
    }
    return bytes;
}

uint64_t Weights::bytes_mapped(size_t memory) const {
    uint64_t bytes = 0;
    for (const size_t g : groups_in(memory)) bytes += group_mapped(g);
    return bytes;
}

uint64_t Weights::group_allocated(size_t group) const {
    uint64_t bytes = 0;
    for (const LoadJob & job : groups_[group].jobs)
        bytes += padded_bytes(memory(groups_[group]).type, job.tensor);
    return bytes;
}

uint64_t Weights::group_mapped(size_t group) const {
    uint64_t bytes = 0;
    for (const Mapped & m : groups_[group].mapped) bytes += m.info->bytes;
    return bytes;
}

std::vector<ggml_tensor *> Weights::tensors_of(const std::vector<size_t> & groups) const {
    std::vector<ggml_tensor *> tensors;
    for (const size_t g : groups) {
        for (const LoadJob & job : groups_[g].jobs) tensors.push_back(job.tensor);
    }
    return tensors;
}

std::vector<ggml_backend_buffer_ptr> Weights::allocate(ggml_backend_buffer_type_t type,
                                                       const std::vector<ggml_tensor *> & tensors) {
    std::vector<ggml_backend_buffer_ptr> buffers;
    const uint64_t most = ggml_backend_buft_get_max_size(type);
    uint64_t all = 0;
    for (const ggml_tensor * t : tensors) all += padded_bytes(type, t);
    for (size_t first = 0, last = 0; first < tensors.size(); first = last) {
        uint64_t bytes = 0;
        for (; last < tensors.size(); ++last) {
            const uint64_t more = padded_bytes(type, tensors[last]);
            if (bytes > 0 && more > most - std::min(most, bytes)) break;
            bytes += more;
        }
        ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(type, bytes);
        if (buffer == nullptr) refuse_size(all, type);
        buffers.emplace_back(buffer);
        ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        put(buffer, {tensors.begin() + ptrdiff_t(first), tensors.begin() + ptrdiff_t(last)}, all);
    }
    return buffers;
}

std::vector<ggml_backend_buffer_ptr> Weights::place(const std::vector<size_t> & groups) {
    if (groups.empty()) return {};
    return allocate(memory(groups_[groups.front()]).type, tensors_of(groups));
}

void Weights::place_in(ggml_backend_buffer_t buffer, const std::vector<size_t> & groups) {
    put(buffer, tensors_of(groups), ggml_backend_buffer_get_size(buffer));
}

void Weights::place_nowhere(const std::vector<size_t> & groups) {
    nowhere_.resize(options_.memory.size());
    // Not NULL, which would mean that there is no place, and each its own; nobody follows them.
    uintptr_t address = uintptr_t(1) << 20;
    for (const size_t g : groups) {
        const ggml_backend_buffer_type_t type = memory(groups_[g]).type;
        ggml_backend_buffer_ptr & buffer = nowhere_[groups_[g].memory];
        if (buffer == nullptr) buffer.reset(ggml_backend_buft_alloc_buffer(type, 0));
        if (buffer == nullptr) throw std::bad_alloc();
        ggml_backend_buffer_set_usage(buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        for (const LoadJob & job : groups_[g].jobs) {
            job.tensor->buffer = buffer.get();
            job.tensor->data = reinterpret_cast<void *>(address);
            address += padded_bytes(type, job.tensor);
        }
    }
}

} // namespace sd
