// The part of Weights that brings groups into memory.
#include "base/error.h"
#include "base/size_text.h"
#include "checkpoint/values/dequantize.h"
#include "ggml-alloc.h"
#include "nn/weights.h"

#include <algorithm>
#include <new>

namespace sd {
namespace {

// As ggml_tallocr places it.
uint64_t padded_bytes(ggml_backend_buffer_type_t type, const ggml_tensor * tensor) {
    const uint64_t unit = ggml_backend_buft_get_alignment(type);
    return (ggml_backend_buft_get_alloc_size(type, tensor) + unit - 1) / unit * unit;
}

[[noreturn]] void refuse_size(uint64_t bytes) {
    throw Error(
        {"E_MEMORY", {}, {}, "the weights need " + size_text(bytes) + " of memory, which there is not", {}});
}

void put(ggml_backend_buffer_t buffer, const std::vector<ggml_tensor *> & tensors, uint64_t bytes) {
    ggml_tallocr place = ggml_tallocr_new(buffer);
    for (ggml_tensor * t : tensors) {
        t->data = nullptr;
        t->buffer = nullptr;
        if (ggml_tallocr_alloc(&place, t) != GGML_STATUS_SUCCESS) refuse_size(bytes);
    }
}

// Buffers for all of the tensors: one, unless the device has none so large.
std::vector<ggml_backend_buffer_ptr> allocate(ggml_backend_buffer_type_t type,
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
        if (buffer == nullptr) refuse_size(all);
        buffers.emplace_back(buffer);
        ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        put(buffer, {tensors.begin() + ptrdiff_t(first), tensors.begin() + ptrdiff_t(last)}, all);
    }
    return buffers;
}

} // namespace

void Weights::begin_group(const std::string & name) {
    // What was begun and got nothing is no group.
    if (!groups_.back().jobs.empty() || !groups_.back().mapped.empty()) groups_.emplace_back();
    groups_.back().name = name;
}

uint64_t Weights::bytes_allocated() const {
    uint64_t bytes = 0;
    for (const Group & group : groups_) {
        for (const LoadJob & job : group.jobs) bytes += ggml_nbytes(job.tensor);
    }
    return bytes;
}

uint64_t Weights::group_allocated(size_t group) const {
    uint64_t bytes = 0;
    for (const LoadJob & job : groups_[group].jobs) bytes += padded_bytes(options_.buffer_type, job.tensor);
    return bytes;
}

const MappedFile & Weights::mapped_file(const TensorInfo & info) {
    const auto found = files_.find(info.file);
    if (found != files_.end()) return found->second;
    return files_.emplace(info.file, MappedFile::map(table_.checkpoint().file_of(info))).first->second;
}

void Weights::place_mapped() {
    std::map<int, ggml_backend_buffer_t> buffers;
    for (const Group & group : groups_) {
        for (const auto & [tensor, info] : group.mapped) {
            ggml_backend_buffer_t & buffer = buffers[info->file];
            if (buffer == nullptr) {
                const MappedFile & file = mapped_file(*info);
                buffer = ggml_backend_cpu_buffer_from_ptr(const_cast<std::byte *>(file.data()), file.size());
                if (buffer == nullptr) throw std::bad_alloc();
                ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
                buffers_.emplace_back(buffer);
            }
            auto * base = static_cast<std::byte *>(ggml_backend_buffer_get_base(buffer));
            ggml_backend_tensor_alloc(buffer, tensor, base + info->offset);
        }
    }
}

void Weights::check_scales(const ParallelOptions & options) const {
    std::vector<const QuantModule *> modules;
    for (const auto & [name, tensor] : table_.tensors()) {
        if (tensor.quant != nullptr) modules.push_back(tensor.quant);
    }
    ParallelOptions untold = options;
    untold.progress = {};
    parallel_parts(int64_t(modules.size()), untold, [&](int64_t i) {
        check_scale_values(table_.checkpoint(), *modules[size_t(i)]);
        return uint64_t(0);
    });
}

std::vector<ggml_tensor *> Weights::tensors_of(const std::vector<size_t> & groups) const {
    std::vector<ggml_tensor *> tensors;
    for (const size_t g : groups) {
        for (const LoadJob & job : groups_[g].jobs) tensors.push_back(job.tensor);
    }
    return tensors;
}

std::vector<ggml_backend_buffer_ptr> Weights::place(const std::vector<size_t> & groups) {
    return allocate(options_.buffer_type, tensors_of(groups));
}

void Weights::place_in(ggml_backend_buffer_t buffer, const std::vector<size_t> & groups) {
    put(buffer, tensors_of(groups), ggml_backend_buffer_get_size(buffer));
}

void Weights::place_nowhere() {
    if (nowhere_ == nullptr) nowhere_.reset(ggml_backend_buft_alloc_buffer(options_.buffer_type, 0));
    if (nowhere_ == nullptr) throw std::bad_alloc();
    ggml_backend_buffer_set_usage(nowhere_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    // Not NULL, which would mean that there is no place, and each its own; nobody follows them.
    uintptr_t address = uintptr_t(1) << 20;
    for (const Group & group : groups_) {
        for (const LoadJob & job : group.jobs) {
            job.tensor->buffer = nowhere_.get();
            job.tensor->data = reinterpret_cast<void *>(address);
            address += padded_bytes(options_.buffer_type, job.tensor);
        }
    }
}

// Counts bytes of all tensors.
ParallelOptions Weights::counted(const ParallelOptions & given, uint64_t & done) const {
    ParallelOptions options = given;
    if (!options_.progress) return options;
    options.progress = [this, &done, total = bytes_allocated()](uint64_t more) {
        done += more;
        options_.progress(done, total);
    };
    return options;
}

void Weights::load(const ParallelOptions & given) {
    uint64_t done = 0;
    check_scales(given);
    place_mapped();
    std::vector<size_t> all(groups_.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    for (ggml_backend_buffer_ptr & buffer : place(all)) buffers_.push_back(std::move(buffer));
    std::vector<LoadJob> jobs;
    for (const Group & group : groups_) jobs.insert(jobs.end(), group.jobs.begin(), group.jobs.end());
    if (!jobs.empty()) load_tensors(table_.checkpoint(), jobs, counted(given, done));
}

void Weights::prepare(const ParallelOptions & given) {
    check_scales(given);
    place_mapped();
    if (options_.home == WeightHome::host) copy_to_host(given);
}

// Bytes that are the tensor's as they are in the file stay there; the others are made once.
void Weights::copy_to_host(const ParallelOptions & given) {
    size_t count = 0;
    for (const Group & group : groups_) count += group.jobs.size();
    host_ctx_.reset(ggml_init({(count + 1) * ggml_tensor_overhead(), nullptr, true}));
    if (host_ctx_ == nullptr) throw std::bad_alloc();
    std::vector<LoadJob> jobs;
    std::vector<ggml_tensor *> tensors;
    std::vector<std::pair<const std::byte **, ggml_tensor *>> wanted;
    for (Group & group : groups_) {
        group.host.resize(group.jobs.size());
        for (size_t i = 0; i < group.jobs.size(); ++i) {
            const LoadJob & job = group.jobs[i];
            if (job.same != nullptr && from_file_) {
                group.host[i] = mapped_file(*job.same).data() + job.same->offset;
                continue;
            }
            tensors.push_back(
                ggml_new_tensor(host_ctx_.get(), job.tensor->type, GGML_MAX_DIMS, job.tensor->ne));
            jobs.push_back({tensors.back(), job.same, job.fill});
            wanted.emplace_back(&group.host[i], tensors.back());
        }
    }
    if (tensors.empty()) return;
    for (ggml_backend_buffer_ptr & buffer : allocate(Upload::host_memory(options_.buffer_type), tensors))
        buffers_.push_back(std::move(buffer));
    uint64_t done = 0;
    load_tensors(table_.checkpoint(), jobs, counted(given, done));
    for (const auto & [place, tensor] : wanted) *place = static_cast<const std::byte *>(tensor->data);
}

void Weights::fetch(const std::vector<size_t> & groups, Upload & upload, const ParallelOptions & options) {
    std::vector<LoadJob> jobs;
    for (const size_t g : groups) {
        const Group & group = groups_[g];
        for (const Mapped & m : group.mapped)
            files_.at(m.info->file).will_need(m.info->offset, m.info->bytes);
        for (const Mapped & m : group.mapped)
            files_.at(m.info->file).touch(m.info->offset, m.info->bytes, options.cancel);
        if (options_.home != WeightHome::host) {
            jobs.insert(jobs.end(), group.jobs.begin(), group.jobs.end());
            continue;
        }
        for (size_t i = 0; i < group.jobs.size(); ++i) {
            upload.copy(group.jobs[i].tensor, group.host[i], options.cancel);
            if (options.progress) options.progress(ggml_nbytes(group.jobs[i].tensor));
        }
    }
    upload.finish();
    if (!jobs.empty()) load_tensors(table_.checkpoint(), jobs, options);
}

void Weights::let_go(const std::vector<size_t> & groups) const {
    for (const size_t g : groups) {
        for (const Mapped & m : groups_[g].mapped)
            files_.at(m.info->file).drop(m.info->offset, m.info->bytes);
    }
}

} // namespace sd
