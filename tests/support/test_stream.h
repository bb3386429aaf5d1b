// The worker thread behind a test device's backend, and the points in it that others wait for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace ggml::test {

// Counts up; waiting for a number that was reached already returns at once.
class Milestone {
  public:
    uint64_t next();       // a number nobody has reached yet
    uint64_t last() const; // the number given out last, 0 for none
    void reach(uint64_t number);
    void wait_for(uint64_t number) const;

  private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    uint64_t given_ = 0, reached_ = 0;
};

class Stream {
  public:
    // `before_each` runs on the worker before every piece of work. Not async: work is done by enqueue itself.
    Stream(bool async, std::function<void()> before_each);
    ~Stream(); // finishes what is queued

    void enqueue(std::function<void()> work);
    void drain();

  private:
    void work_loop();

    const bool async_;
    const std::function<void()> before_each_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> queue_;
    bool busy_ = false, stop_ = false;
    std::thread worker_;
};

} // namespace ggml::test
