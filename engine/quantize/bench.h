// What a thread works with, kept from piece to piece.
#pragma once

#include "quantize/feedback.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace sd {

struct Bench {
    std::vector<float> rows;
    std::vector<std::byte> bytes;
    RowEncoder encoder;
    FeedbackEncoder feedback;
    EncodedRows encoded;
};

class Benches {
  public:
    std::unique_ptr<Bench> take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) return std::make_unique<Bench>();
        std::unique_ptr<Bench> bench = std::move(free_.back());
        free_.pop_back();
        return bench;
    }
    void give(std::unique_ptr<Bench> bench) {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(bench));
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Bench>> free_;
};

} // namespace sd
