#include "tests/support/test_stream.h"

#include <algorithm>
#include <utility>

namespace ggml::test {

uint64_t Milestone::next() {
    const std::lock_guard lock(mutex_);
    return ++given_;
}

uint64_t Milestone::last() const {
    const std::lock_guard lock(mutex_);
    return given_;
}

void Milestone::reach(uint64_t number) {
    const std::lock_guard lock(mutex_);
    reached_ = std::max(reached_, number);
    changed_.notify_all();
}

void Milestone::wait_for(uint64_t number) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_ >= number; });
}

Stream::Stream(bool async, std::function<void()> before_each)
    : async_(async), before_each_(std::move(before_each)) {
    if (async_) worker_ = std::thread([this] { work_loop(); });
}

Stream::~Stream() {
    if (!async_) return;
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
        changed_.notify_all();
    }
    worker_.join();
}

void Stream::enqueue(std::function<void()> work) {
    if (!async_) {
        work();
        return;
    }
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_all();
}

void Stream::drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
}

void Stream::work_loop() {
    for (;;) {
        std::function<void()> work;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
            if (queue_.empty()) return;
            work = std::move(queue_.front());
            queue_.pop_front();
            busy_ = true;
        }
        before_each_();
        work();
        work = nullptr; // what it holds goes before anyone believes the stream is idle
        const std::lock_guard lock(mutex_);
        busy_ = false;
        changed_.notify_all();
    }
}

} // namespace ggml::test
