// Runs the CPU kernel of one graph node again and again, without a graph around it.
#pragma once

#include "backends/cpu/kernel.h"
#include "bench/support/measure.h"
#include "ggml-cpp.h"

#include <functional>
#include <string>
#include <vector>

namespace bench {

class Node {
  public:
    // `build` makes the operands and the node in a context of `bytes` for tensor data. Float operands are
    // filled with values in [-1, 1].
    Node(size_t bytes, const ggml::cpu::Team & team,
         const std::function<ggml_tensor *(ggml_context *)> & build);

    ggml_tensor * dst() const { return dst_; }
    void run();
    Candidate candidate(std::string name, double work) {
        return {std::move(name), work, [this] { run(); }};
    }

  private:
    const ggml::cpu::Team & team_;
    ggml_context_ptr ctx_;
    ggml_tensor * dst_;
    const ggml::cpu::OpKernels * kernels_;
    std::vector<std::byte> scratch_;
};

} // namespace bench
