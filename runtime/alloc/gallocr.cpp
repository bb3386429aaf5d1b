// ggml_gallocr: a plan, the buffers it was made for, and handing out their addresses to graphs that fit it.
#include "runtime/alloc/gallocr.h"
#include "runtime/alloc/plan.h"
#include "runtime/alloc/virtual_buffer.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <new>

using ggml::alloc::BufferSpec;
using ggml::alloc::GraphPlan;
using ggml::alloc::Id;
using ggml::alloc::PlanRequest;
using ggml::alloc::TensorPlan;
using ggml::alloc::VirtualBuffer;

struct ggml_gallocr {
    std::vector<ggml_backend_buffer_type_t> bufts;
    std::vector<BufferSpec> specs;
    std::vector<VirtualBuffer> buffers; // used at the ids that own memory
    GraphPlan plan;
    bool planned = false; // plan is made and the buffers are large enough for it
    ggml::TensorNumbers skipped;
    size_t n_skipped = 0;
};

namespace ggml::alloc {
namespace {

size_t buft_tensor_bytes(const ggml_tensor * tensor, const void * context) {
    auto * buft = static_cast<ggml_backend_buffer_type *>(const_cast<void *>(context));
    return ggml_backend_buft_get_alloc_size(buft, tensor);
}

std::unique_ptr<ggml_gallocr> make_gallocr(std::span<const ggml_backend_buffer_type_t> bufts) {
    auto galloc = std::make_unique<ggml_gallocr>();
    galloc->bufts.assign(bufts.begin(), bufts.end());
    galloc->buffers.resize(bufts.size());
    for (ggml_backend_buffer_type_t buft : bufts) {
        BufferSpec spec;
        spec.alignment = ggml_backend_buft_get_alignment(buft);
        spec.max_chunk = ggml_backend_buft_get_max_size(buft);
        spec.tensor_bytes = buft_tensor_bytes;
        spec.context = buft;
        spec.memory = int(std::find(bufts.begin(), bufts.end(), buft) - bufts.begin());
        galloc->specs.push_back(spec);
    }
    return galloc;
}

PlanRequest request_for(ggml_gallocr_t galloc, const ggml_cgraph * graph, const int * node_ids,
                        const int * leaf_ids) {
    return {graph, node_ids, leaf_ids, galloc->specs, galloc->n_skipped != 0 ? &galloc->skipped : nullptr};
}

bool reserve(ggml_gallocr_t galloc, const ggml_cgraph * graph, const int * node_ids, const int * leaf_ids) {
    galloc->planned = false;
    if (!make_plan(request_for(galloc, graph, node_ids, leaf_ids), galloc->plan)) return false;
    for (size_t b = 0; b < galloc->buffers.size(); ++b) {
        if (!galloc->buffers[b].ensure(galloc->bufts[b], galloc->plan.chunk_sizes[b])) return false;
    }
    galloc->planned = true;
    return true;
}

bool needs_place(const ggml_tensor * t) { return !has_storage(t); }

// A view of memory that no backend knows keeps the address it was created with.
bool needs_view_init(const ggml_tensor * t) { return t->buffer == nullptr && t->view_src->buffer != nullptr; }

// Gives storage in the planned order. On failure the tensors done so far are taken back, so that none points
// at memory the next attempt may free.
class Placement {
  public:
    Placement(ggml_gallocr_t galloc, const ggml_cgraph * graph) : galloc_(galloc), graph_(graph) {}

    bool run() {
        if (place_all() && show_all()) return true;
        GGML_LOG_ERROR("graph allocation: the backend could not set up tensor '%s'\n", failed_->name);
        take_back();
        return false;
    }

  private:
    const GraphPlan & plan() const { return galloc_->plan; }
    ggml_tensor * tensor(Id id) const { return plan().layout.tensor(graph_, id); }

    bool place_all() {
        bool fresh = false;
        for (; n_placed_ < plan().placed.size(); ++n_placed_) {
            const Id id = plan().placed[n_placed_];
            ggml_tensor * t = tensor(id);
            if (!needs_place(t)) continue; // allocated by an earlier call
            // Per-tensor state of the previous graph goes before the first tensor of this one.
            if (!fresh) {
                for (VirtualBuffer & buffer : galloc_->buffers) buffer.reset_tensors();
            }
            fresh = true;
            const TensorPlan & p = plan().tensors[size_t(id)];
            const VirtualBuffer & buffer = galloc_->buffers[size_t(galloc_->specs[size_t(p.buffer)].memory)];
            if (buffer.place(t, p.chunk, p.offset) != GGML_STATUS_SUCCESS) return fail(t, n_placed_);
        }
        return true;
    }

    bool show_all() {
        for (; n_shown_ < plan().views.size(); ++n_shown_) {
            ggml_tensor * t = tensor(plan().views[n_shown_]);
            if (needs_view_init(t) && ggml_backend_view_init(t) != GGML_STATUS_SUCCESS)
                return fail(t, n_shown_);
        }
        return true;
    }

    bool fail(const ggml_tensor * t, size_t & count) {
        failed_ = t;
        ++count; // the failed one has its address already
        return false;
    }

    void take_back() const {
        for (size_t i = 0; i < n_placed_; ++i) {
            const TensorPlan & p = plan().tensors[size_t(plan().placed[i])];
            ggml_tensor * t = tensor(plan().placed[i]);
            // What the caller brought stays where it is.
            if (galloc_->buffers[size_t(galloc_->specs[size_t(p.buffer)].memory)].owns(t)) forget(t);
        }
        for (size_t i = 0; i < n_shown_; ++i) {
            ggml_tensor * t = tensor(plan().views[i]);
            if (t->buffer != nullptr) forget(t);
        }
    }

    static void forget(ggml_tensor * t) {
        t->data = nullptr;
        t->buffer = nullptr;
    }

    ggml_gallocr_t galloc_;
    const ggml_cgraph * graph_;
    size_t n_placed_ = 0, n_shown_ = 0;
    const ggml_tensor * failed_ = nullptr;
};

// Runs what may throw on behalf of the C API.
template <class Function>
bool without_exceptions(Function && function) {
    try {
        return function();
    } catch (const std::bad_alloc &) {
        GGML_LOG_ERROR("graph allocation: no memory for the plan\n");
        return false;
    }
}

} // namespace

void set_skipped(ggml_gallocr * galloc, ggml_tensor * const * tensors, size_t n_tensors) {
    // The plan remembers which positions were skipped and is compared with this set when it is used.
    galloc->n_skipped = 0;
    if (n_tensors == 0) return;
    galloc->skipped.reset(n_tensors);
    for (size_t i = 0; i < n_tensors; ++i) galloc->skipped.insert(tensors[i], int(i));
    galloc->n_skipped = n_tensors;
}

bool gave_storage(const ggml_gallocr * galloc, const ggml_tensor * tensor) {
    return tensor->buffer != nullptr &&
           std::any_of(galloc->buffers.begin(), galloc->buffers.end(),
                       [tensor](const VirtualBuffer & buffer) { return buffer.owns(tensor); });
}

} // namespace ggml::alloc

extern "C" {

ggml_gallocr_t ggml_gallocr_new_n(ggml_backend_buffer_type_t * bufts, int n_bufs) {
    GGML_ASSERT(bufts != nullptr && n_bufs > 0 && n_bufs <= SHRT_MAX);
    try {
        return ggml::alloc::make_gallocr({bufts, size_t(n_bufs)}).release();
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

ggml_gallocr_t ggml_gallocr_new(ggml_backend_buffer_type_t buft) { return ggml_gallocr_new_n(&buft, 1); }

void ggml_gallocr_free(ggml_gallocr_t galloc) { delete galloc; }

bool ggml_gallocr_reserve_n(ggml_gallocr_t galloc, ggml_cgraph * graph, const int * node_buffer_ids,
                            const int * leaf_buffer_ids) {
    return ggml::alloc::without_exceptions(
        [&] { return ggml::alloc::reserve(galloc, graph, node_buffer_ids, leaf_buffer_ids); });
}

bool ggml_gallocr_reserve(ggml_gallocr_t galloc, ggml_cgraph * graph) {
    return ggml_gallocr_reserve_n(galloc, graph, nullptr, nullptr);
}

void ggml_gallocr_reserve_n_size(ggml_gallocr_t galloc, ggml_cgraph * graph, const int * node_buffer_ids,
                                 const int * leaf_buffer_ids, size_t * sizes) {
    GraphPlan plan;
    const bool known = ggml::alloc::without_exceptions([&] {
        return make_plan(ggml::alloc::request_for(galloc, graph, node_buffer_ids, leaf_buffer_ids), plan);
    });
    for (size_t b = 0; b < galloc->specs.size(); ++b) {
        // What cannot be planned cannot be allocated: no amount of memory is enough.
        sizes[b] = known ? 0 : SIZE_MAX;
        if (!known) continue;
        for (size_t chunk : plan.chunk_sizes[b]) {
            if (!ggml::checked_add(sizes[b], chunk, sizes[b])) sizes[b] = SIZE_MAX;
        }
    }
}

bool ggml_gallocr_alloc_graph(ggml_gallocr_t galloc, ggml_cgraph * graph) {
    const PlanRequest request = ggml::alloc::request_for(galloc, graph, nullptr, nullptr);
    if (!galloc->planned || !plan_fits(galloc->plan, request)) {
        if (galloc->specs.size() > 1) return false; // only reserve_n knows the buffer ids
        if (!ggml_gallocr_reserve(galloc, graph)) return false;
    }
    return ggml::alloc::Placement(galloc, graph).run();
}

size_t ggml_gallocr_get_buffer_size(ggml_gallocr_t galloc, int buffer_id) {
    GGML_ASSERT(buffer_id >= 0 && size_t(buffer_id) < galloc->buffers.size());
    return galloc->buffers[size_t(buffer_id)].bytes();
}

void ggml_gallocr_set_skipped_tensors(ggml_gallocr_t galloc, ggml_tensor * const * tensors,
                                      size_t n_tensors) {
    try {
        ggml::alloc::set_skipped(galloc, tensors, n_tensors);
    } catch (const std::bad_alloc &) {
        GGML_ABORT("ggml_gallocr_set_skipped_tensors: no memory for a set of %zu tensors", n_tensors);
    }
}

} // extern "C"
