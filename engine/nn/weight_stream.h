// Brings groups of weights in when they are needed, those of the next graph while one is computed, and out
// again. Owns the memory they are in.
#pragma once

#include "nn/weights.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sd {

class WeightStream {
  public:
    struct Segment {
        std::vector<size_t> groups;
        bool stays;
    };

    // Takes all memory it will ever have and fetches what stays. The weights are prepared and live longer;
    // all groups are of the same memory. slots: how many segments that do not stay can be there at once; with
    // two the next one is fetched ahead.
    WeightStream(Weights & weights, std::vector<Segment> segments, size_t slots,
                 const ParallelOptions & options);
    ~WeightStream(); // stops fetching; gives everything back

    WeightStream(const WeightStream &) = delete;
    WeightStream & operator=(const WeightStream &) = delete;

    // The segment's weights have a place and their values, until `leave` or another one is entered. Best in
    // their order and around again. Throws Error: that of fetching, or E_CANCELLED soon after
    // `cancel` was set.
    void enter(size_t segment, const std::atomic<bool> * cancel);
    void leave(size_t segment);

    // Bytes taken.
    uint64_t bytes() const { return bytes_; }

  private:
    static constexpr size_t kNone = SIZE_MAX;
    struct Slot {
        ggml_backend_buffer_ptr buffer; // NULL: nothing of these segments needs memory
        size_t segment = kNone;
        bool ready = false;
    };

    void keep_bytes(const std::vector<ggml_backend_buffer_ptr> & buffers);
    void take_slots(size_t slots);
    void work();
    Slot * free_slot();
    Slot * slot_of(size_t segment);
    size_t after(size_t segment) const; // the next one that does not stay, around and around
    void restart(std::unique_lock<std::mutex> & lock, size_t segment);

    Weights & weights_;
    const std::vector<Segment> segments_;
    const ggml_backend_buffer_type_t memory_;
    ParallelOptions options_;
    std::vector<ggml_backend_buffer_ptr> staying_;
    uint64_t bytes_ = 0;
    size_t entered_ = kNone; // does not stay
    Upload upload_;          // of the fetching thread

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Slot> slots_;
    size_t next_ = kNone; // to be fetched; kNone: nothing
    bool fetching_ = false;
    std::exception_ptr failure_;
    std::atomic<bool> stop_ = false; // what is being fetched is not wanted any more
    bool end_ = false;
    std::thread thread_;
};

} // namespace sd
