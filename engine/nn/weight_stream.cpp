#include "nn/weight_stream.h"

#include "base/error.h"
#include "base/size_text.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sd {
namespace {

// How soon a cancel ends waiting.
constexpr std::chrono::milliseconds kLook(20);

} // namespace

WeightStream::WeightStream(Weights & weights, std::vector<Segment> segments, size_t slots,
                           const ParallelOptions & options)
    : weights_(weights), segments_(std::move(segments)),
      memory_(weights.options().memory[weights.memory_of(segments_.front().groups.front())].type),
      options_(options), upload_(memory_) {
    std::vector<size_t> groups;
    for (const Segment & s : segments_) {
        if (s.stays) groups.insert(groups.end(), s.groups.begin(), s.groups.end());
    }
    staying_ = weights_.place(groups);
    keep_bytes(staying_);
    take_slots(slots);
    weights_.fetch(groups, upload_, options_);
    if (slots_.empty()) return;
    // Values that are computed while they are fetched: one core, as the others compute graphs.
    options_ = {.threads = 1, .cancel = &stop_, .progress = {}};
    next_ = after(segments_.size() - 1);
    thread_ = std::thread([this] { work(); });
}

WeightStream::~WeightStream() {
    if (thread_.joinable()) {
        {
            const std::lock_guard lock(mutex_);
            end_ = true;
            stop_ = true;
            changed_.notify_all();
        }
        thread_.join();
    }
    for (const Segment & s : segments_) {
        weights_.let_go(s.groups);
        weights_.place_nowhere(s.groups);
    }
}

void WeightStream::keep_bytes(const std::vector<ggml_backend_buffer_ptr> & buffers) {
    for (const ggml_backend_buffer_ptr & b : buffers) bytes_ += ggml_backend_buffer_get_size(b.get());
}

void WeightStream::take_slots(size_t slots) {
    uint64_t most = 0;
    size_t passing = 0;
    for (const Segment & s : segments_) {
        if (s.stays) continue;
        ++passing;
        uint64_t bytes = 0;
        for (const size_t g : s.groups) bytes += weights_.group_allocated(g);
        most = std::max(most, bytes);
    }
    slots_.resize(std::min(slots, passing));
    for (Slot & slot : slots_) {
        if (most == 0) continue;
        slot.buffer.reset(ggml_backend_buft_alloc_buffer(memory_, most));
        if (slot.buffer == nullptr) {
            throw Error({"E_MEMORY",
                         {},
                         {},
                         std::string("the memory of ") + ggml_backend_buft_name(memory_) +
                             " has no room for " + size_text(most) + " of weights that pass through it",
                         {}});
        }
        ggml_backend_buffer_set_usage(slot.buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
        bytes_ += most;
    }
}

size_t WeightStream::after(size_t segment) const {
    for (size_t i = 1; i <= segments_.size(); ++i) {
        const size_t next = (segment + i) % segments_.size();
        if (!segments_[next].stays) return next;
    }
    return kNone;
}

WeightStream::Slot * WeightStream::free_slot() {
    for (Slot & s : slots_) {
        if (s.segment == kNone) return &s;
    }
    return nullptr;
}

WeightStream::Slot * WeightStream::slot_of(size_t segment) {
    for (Slot & s : slots_) {
        if (s.segment == segment) return &s;
    }
    return nullptr;
}

void WeightStream::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        // A single segment passes through again and again: it is there already, or will be asked for.
        changed_.wait(lock, [&] {
            return end_ || (next_ != kNone && failure_ == nullptr && free_slot() != nullptr &&
                            slot_of(next_) == nullptr);
        });
        if (end_) return;
        Slot & slot = *free_slot();
        const size_t segment = next_;
        slot.segment = segment;
        next_ = after(segment);
        fetching_ = true;
        lock.unlock();
        std::exception_ptr failure;
        try {
            const std::vector<size_t> & groups = segments_[segment].groups;
            if (slot.buffer != nullptr) weights_.place_in(slot.buffer.get(), groups);
            weights_.fetch(groups, upload_, options_);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        fetching_ = false;
        slot.ready = failure == nullptr && !stop_;
        if (!slot.ready) slot.segment = kNone;
        if (failure != nullptr && !stop_) failure_ = failure;
        changed_.notify_all();
    }
}

// Throws away what was fetched for another order.
void WeightStream::restart(std::unique_lock<std::mutex> & lock, size_t segment) {
    stop_ = true;
    next_ = kNone;
    changed_.wait(lock, [&] { return !fetching_; });
    stop_ = false;
    for (Slot & s : slots_) {
        if (s.segment != kNone) weights_.let_go(segments_[s.segment].groups);
        s.segment = kNone;
        s.ready = false;
    }
    failure_ = nullptr;
    next_ = segment;
    changed_.notify_all();
}

void WeightStream::enter(size_t segment, const std::atomic<bool> * cancel) {
    if (entered_ != kNone && entered_ != segment) leave(entered_);
    if (segments_[segment].stays) return;
    std::unique_lock lock(mutex_);
    // On its way, or about to be: otherwise slots hold what was fetched for another order.
    const bool comes = slot_of(segment) != nullptr || (next_ == segment && free_slot() != nullptr);
    if (!comes) restart(lock, segment);
    for (;;) {
        Slot * slot = slot_of(segment);
        if (slot != nullptr && slot->ready) {
            entered_ = segment;
            return;
        }
        if (failure_ != nullptr) {
            const std::exception_ptr failure = std::exchange(failure_, nullptr);
            next_ = kNone;
            std::rethrow_exception(failure);
        }
        if (cancel != nullptr && *cancel) throw Error({"E_CANCELLED", {}, {}, "cancelled", {}});
        changed_.wait_for(lock, kLook);
    }
}

void WeightStream::leave(size_t segment) {
    if (segments_[segment].stays) return;
    entered_ = kNone;
    weights_.let_go(segments_[segment].groups);
    const std::lock_guard lock(mutex_);
    Slot * slot = slot_of(segment);
    if (slot == nullptr) return;
    slot->segment = kNone;
    slot->ready = false;
    changed_.notify_all();
}

} // namespace sd
