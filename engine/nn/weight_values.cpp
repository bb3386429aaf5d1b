// The part of Weights that brings values into memory.
#include "checkpoint/values/dequantize.h"
#include "nn/weights.h"

#include <algorithm>
#include <new>

namespace sd {
namespace {

// Matrices below this are not worth a page fault; they are read.
constexpr uint64_t kMapBytes = 64 * 1024;

// Addresses of elements are multiples of this, or the tensor can't be used where it lies.
uint64_t alignment_of(ggml_type type) {
    if (ggml_is_quantized(type)) return sizeof(ggml_fp16_t);
    return ggml_type_size(type);
}

bool can_be_mapped(const LoadJob & job) {
    return job.same != nullptr && job.same->bytes >= kMapBytes &&
           job.same->offset % alignment_of(job.tensor->type) == 0;
}

} // namespace

const MappedFile & Weights::mapped_file(const TensorInfo & info) {
    const auto found = files_.find(info.file);
    if (found != files_.end()) return found->second;
    return files_.emplace(info.file, MappedFile::map(table_.checkpoint().file_of(info))).first->second;
}

// In host memory tensors are used where they lie in their file, if they can be.
void Weights::choose_mapped() {
    if (!options_.map) return;
    for (Group & group : groups_) {
        if (!ggml_backend_buft_is_host(memory(group).type)) continue;
        const auto read = std::stable_partition(group.jobs.begin(), group.jobs.end(), can_be_mapped);
        for (auto job = group.jobs.begin(); job != read; ++job)
            group.mapped.push_back({job->tensor, job->same});
        group.jobs.erase(group.jobs.begin(), read);
    }
}

void Weights::place_mapped() {
    choose_mapped();
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

// Counts bytes of many tensors.
ParallelOptions Weights::counted(const ParallelOptions & given, uint64_t & done, uint64_t total) const {
    ParallelOptions options = given;
    if (!options_.progress) return options;
    options.progress = [this, &done, total](uint64_t more) {
        done += more;
        options_.progress(done, total);
    };
    return options;
}

void Weights::load(const ParallelOptions & given) {
    uint64_t done = 0, total = 0;
    check_scales(given);
    place_mapped();
    std::vector<LoadJob> jobs;
    for (size_t m = 0; m < options_.memory.size(); ++m) {
        for (LoadJob & job : place_for_good(m)) jobs.push_back(std::move(job));
        total += bytes_allocated(m);
    }
    if (!jobs.empty()) load_tensors(table_.checkpoint(), jobs, counted(given, done, total));
}

std::vector<LoadJob> Weights::place_for_good(size_t memory) {
    const std::vector<size_t> groups = groups_in(memory);
    for (ggml_backend_buffer_ptr & buffer : place(groups)) buffers_.push_back(std::move(buffer));
    std::vector<LoadJob> jobs;
    for (const size_t g : groups) jobs.insert(jobs.end(), groups_[g].jobs.begin(), groups_[g].jobs.end());
    return jobs;
}

void Weights::prepare(const ParallelOptions & given) {
    check_scales(given);
    place_mapped();
    uint64_t done = 0, total = 0;
    for (const Group & group : groups_) {
        if (memory(group).home != WeightHome::host) continue;
        for (const LoadJob & job : group.jobs) total += lies_in_file(job) ? 0 : ggml_nbytes(job.tensor);
    }
    std::vector<LoadJob> jobs;
    for (size_t m = 0; m < options_.memory.size(); ++m) {
        if (!always_there(m)) continue;
        for (LoadJob & job : place_for_good(m)) jobs.push_back(std::move(job));
        total += bytes_allocated(m);
    }
    if (!jobs.empty()) load_tensors(table_.checkpoint(), jobs, counted(given, done, total));
    for (size_t m = 0; m < options_.memory.size(); ++m) {
        if (options_.memory[m].home == WeightHome::host) copy_to_host(m, counted(given, done, total));
    }
}

// Bytes that are the tensor's as they are in the file stay there; the others are made once.
bool Weights::lies_in_file(const LoadJob & job) const { return job.same != nullptr && options_.map; }

void Weights::copy_to_host(size_t memory, const ParallelOptions & given) {
    const std::vector<size_t> groups = groups_in(memory);
    size_t count = 0;
    for (const size_t g : groups) count += groups_[g].jobs.size();
    host_contexts_.emplace_back(ggml_init({(count + 1) * ggml_tensor_overhead(), nullptr, true}));
    ggml_context * ctx = host_contexts_.back().get();
    if (ctx == nullptr) throw std::bad_alloc();
    std::vector<LoadJob> jobs;
    std::vector<ggml_tensor *> tensors;
    std::vector<std::pair<const std::byte **, ggml_tensor *>> wanted;
    for (const size_t g : groups) {
        Group & group = groups_[g];
        group.host.resize(group.jobs.size());
        for (size_t i = 0; i < group.jobs.size(); ++i) {
            const LoadJob & job = group.jobs[i];
            if (lies_in_file(job)) {
                group.host[i] = mapped_file(*job.same).data() + job.same->offset;
                continue;
            }
            tensors.push_back(ggml_new_tensor(ctx, job.tensor->type, GGML_MAX_DIMS, job.tensor->ne));
            jobs.push_back({tensors.back(), job.same, job.fill});
            wanted.emplace_back(&group.host[i], tensors.back());
        }
    }
    if (tensors.empty()) return;
    const ggml_backend_buffer_type_t type = Upload::host_memory(options_.memory[memory].type);
    for (ggml_backend_buffer_ptr & buffer : allocate(type, tensors)) buffers_.push_back(std::move(buffer));
    load_tensors(table_.checkpoint(), jobs, given);
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
        if (memory(group).home != WeightHome::host) {
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
