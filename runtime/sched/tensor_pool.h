// Tensor objects the scheduler makes for itself. Promise: addresses stay valid until reset; memory is kept
// for the next graph.
#pragma once

#include "ggml.h"

#include <memory>
#include <vector>

namespace ggml::sched {

class TensorPool {
  public:
    ggml_tensor * make() {
        if (used_ == blocks_.size() * kBlock) blocks_.push_back(std::make_unique<ggml_tensor[]>(kBlock));
        ggml_tensor * t = &blocks_[used_ / kBlock][used_ % kBlock];
        ++used_;
        *t = {};
        return t;
    }
    void reset() { used_ = 0; }

  private:
    static constexpr size_t kBlock = 64;
    std::vector<std::unique_ptr<ggml_tensor[]>> blocks_;
    size_t used_ = 0;
};

} // namespace ggml::sched
