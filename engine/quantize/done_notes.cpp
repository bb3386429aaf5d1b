#include "quantize/done_notes.h"

#include <chrono>
#include <utility>

namespace sd {
namespace {

// A power cut costs at most this much work, and the disk is asked seldom enough to stream.
constexpr uint64_t kMostBytes = uint64_t(128) << 20;
constexpr std::chrono::seconds kLongest{1};

} // namespace

DoneNotes::DoneNotes(Journal & journal, std::function<void()> sync)
    : journal_(journal), sync_(std::move(sync)), thread_([this] { run(); }) {}

DoneNotes::~DoneNotes() {
    {
        const std::lock_guard lock(mutex_);
        end_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void DoneNotes::rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
}

void DoneNotes::add(JournalEntry entry, uint64_t bytes) {
    {
        const std::lock_guard lock(mutex_);
        rethrow();
        waiting_.push_back(std::move(entry));
        bytes_ += bytes;
        if (waiting_.size() > 1 && bytes_ < kMostBytes) return;
    }
    changed_.notify_all();
}

void DoneNotes::flush() {
    std::unique_lock lock(mutex_);
    hurry_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return failure_ || (waiting_.empty() && !busy_); });
    hurry_ = false;
    rethrow();
}

void DoneNotes::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return end_ || !waiting_.empty(); });
        changed_.wait_for(lock, kLongest, [&] { return end_ || hurry_ || bytes_ >= kMostBytes; });
        if (end_) return;
        const std::vector<JournalEntry> entries = std::exchange(waiting_, {});
        bytes_ = 0;
        busy_ = true;
        lock.unlock();
        std::exception_ptr failure;
        try {
            sync_();
            journal_.append(entries);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        busy_ = false;
        failure_ = failure;
        changed_.notify_all();
        if (failure_) return;
    }
}

} // namespace sd
