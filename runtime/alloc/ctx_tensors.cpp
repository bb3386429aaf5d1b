// One buffer (or several behind one handle) for all tensors of a context.
#include "runtime/alloc/multi_buffer.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace ggml::alloc {
namespace {

bool owns_no_storage_yet(const ggml_tensor * t) {
    return t->view_src == nullptr && t->data == nullptr && t->buffer == nullptr;
}

// Consecutive tensors of a context that share a buffer.
struct Range {
    std::vector<ggml_tensor *> tensors;
    size_t bytes = 0;
};

class ContextAllocation {
  public:
    ContextAllocation(ggml_context * ctx, ggml_backend_buffer_type_t buft) : ctx_(ctx), buft_(buft) {}
    ContextAllocation(const ContextAllocation &) = delete;
    ContextAllocation & operator=(const ContextAllocation &) = delete;
    ~ContextAllocation() {
        for (ggml_backend_buffer_t buffer : buffers_) ggml_backend_buffer_free(buffer);
    }

    // False, with a log line: sizes overflow.
    bool measure();
    bool total(size_t & bytes) const;

    // Null, with a log line, when memory is short; then no tensor has changed.
    ggml_backend_buffer_t allocate();

  private:
    bool make_buffers();
    bool place();
    bool show_views();
    void take_back();
    ggml_backend_buffer_t release();

    ggml_context * ctx_;
    ggml_backend_buffer_type_t buft_;
    std::vector<Range> ranges_;
    std::vector<ggml_backend_buffer_t> buffers_;
    std::vector<ggml_tensor *> changed_;
};

bool ContextAllocation::measure() {
    const size_t alignment = ggml_backend_buft_get_alignment(buft_);
    const size_t max_size = ggml_backend_buft_get_max_size(buft_);
    for (ggml_tensor * t = ggml_get_first_tensor(ctx_); t != nullptr; t = ggml_get_next_tensor(ctx_, t)) {
        if (!owns_no_storage_yet(t)) continue;
        size_t bytes = 0, end = 0;
        if (!checked_align_up(ggml_backend_buft_get_alloc_size(buft_, t), alignment, bytes)) {
            GGML_LOG_ERROR("tensor '%s' is too large for an address\n", t->name);
            return false;
        }
        const bool joins = !ranges_.empty() && checked_add(ranges_.back().bytes, bytes, end) &&
                           (end <= max_size || ranges_.back().bytes == 0);
        if (!joins) ranges_.emplace_back();
        ranges_.back().tensors.push_back(t);
        ranges_.back().bytes += bytes;
    }
    return true;
}

bool ContextAllocation::total(size_t & bytes) const {
    bytes = 0;
    return std::all_of(ranges_.begin(), ranges_.end(),
                       [&](const Range & range) { return checked_add(bytes, range.bytes, bytes); });
}

bool ContextAllocation::make_buffers() {
    buffers_.reserve(ranges_.size());
    for (const Range & range : ranges_) {
        ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(buft_, range.bytes);
        if (buffer == nullptr) {
            GGML_LOG_ERROR("no memory for a %s buffer of %zu bytes (%zu tensors)\n",
                           ggml_backend_buft_name(buft_), range.bytes, range.tensors.size());
            return false;
        }
        buffers_.push_back(buffer);
    }
    return true;
}

bool ContextAllocation::place() {
    for (size_t r = 0; r < ranges_.size(); ++r) {
        ggml_tallocr talloc = ggml_tallocr_new(buffers_[r]);
        for (ggml_tensor * t : ranges_[r].tensors) {
            if (ggml_tallocr_alloc(&talloc, t) != GGML_STATUS_SUCCESS) return false;
            changed_.push_back(t);
        }
    }
    return true;
}

// Views of this context, whoever owns what they show. What they show may still be without storage (another
// context, allocated later): such a view stays as it is.
bool ContextAllocation::show_views() {
    for (ggml_tensor * t = ggml_get_first_tensor(ctx_); t != nullptr; t = ggml_get_next_tensor(ctx_, t)) {
        if (t->view_src == nullptr || t->buffer != nullptr) continue;
        if (t->view_src->buffer == nullptr || t->view_src->data == nullptr) continue;
        changed_.push_back(t);
        if (ggml_backend_view_init(t) != GGML_STATUS_SUCCESS) return false;
    }
    return true;
}

void ContextAllocation::take_back() {
    for (ggml_tensor * t : changed_) {
        t->data = nullptr;
        t->buffer = nullptr;
    }
}

ggml_backend_buffer_t ContextAllocation::release() {
    // Several buffers belong to the multi-buffer even when it could not be made.
    std::vector<ggml_backend_buffer_t> buffers = std::move(buffers_);
    buffers_.clear();
    return buffers.size() == 1 ? buffers[0] : make_multi_buffer(buffers.data(), buffers.size());
}

ggml_backend_buffer_t ContextAllocation::allocate() {
    size_t bytes = 0;
    if (!measure()) return nullptr;
    if (total(bytes) && bytes == 0) { // nothing to hold: only views, or tensors without elements
        if (!show_views()) take_back();
        return nullptr;
    }
    if (make_buffers() && place() && show_views()) {
        if (ggml_backend_buffer_t result = release()) return result;
    }
    take_back();
    return nullptr;
}

// Allocating over a context that holds its tensors' data would leave two places for each of them.
void check_context(ggml_context * ctx) {
    if (!ggml_get_no_alloc(ctx)) {
        GGML_ABORT("ggml_backend_alloc_ctx_tensors: the context was made without no_alloc");
    }
}

} // namespace
} // namespace ggml::alloc

extern "C" {

ggml_backend_buffer_t ggml_backend_alloc_ctx_tensors_from_buft(ggml_context * ctx,
                                                               ggml_backend_buffer_type_t buft) {
    ggml::alloc::check_context(ctx);
    try {
        return ggml::alloc::ContextAllocation(ctx, buft).allocate();
    } catch (const std::bad_alloc &) {
        GGML_LOG_ERROR("ggml_backend_alloc_ctx_tensors: out of memory\n");
        return nullptr;
    }
}

size_t ggml_backend_alloc_ctx_tensors_from_buft_size(ggml_context * ctx, ggml_backend_buffer_type_t buft) {
    ggml::alloc::check_context(ctx);
    size_t bytes = 0;
    try {
        ggml::alloc::ContextAllocation allocation(ctx, buft);
        if (allocation.measure() && allocation.total(bytes)) return bytes;
    } catch (const std::bad_alloc &) {
        GGML_LOG_ERROR("ggml_backend_alloc_ctx_tensors: out of memory\n");
    }
    return SIZE_MAX; // more than any memory holds
}

ggml_backend_buffer_t ggml_backend_alloc_ctx_tensors(ggml_context * ctx, ggml_backend_t backend) {
    return ggml_backend_alloc_ctx_tensors_from_buft(ctx, ggml_backend_get_default_buffer_type(backend));
}

} // extern "C"
