// One node with contents, ready to be computed by each of its implementations.
#pragma once

#include "ggml-cpp.h"
#include "tools/op-bench/op_case.h"
#include "tools/op-bench/probe.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace op_bench {

class Job {
  public:
    // implementations: those that run, at least one. `stop`: once true, computing ends early. verify: it will
    // be called. Throws Failure, before memory is taken, when everything needs more than is available.
    Job(const OpCase & op, const NodeSpec & spec, const std::vector<Implementation> & implementations,
        const std::vector<std::string> & all_kernels, int n_threads, bool verify,
        const std::atomic<bool> & stop);
    ~Job();

    const ggml_tensor * node() const;
    double bytes() const; // of operands and result, each once
    Work work() const { return op_.work(node()); }

    // Throws Failure when computing fails; returns at once, with nothing computed, when stopped.
    void run(size_t implementation);

    // Computes and compares with the reference. Empty: it is good.
    std::string verify(size_t implementation);

  private:
    struct Graph;
    std::string verify_kernel(Graph & graph);
    std::string verify_native(Graph & graph);

    const OpCase & op_;
    NodeSpec spec_;
    const std::atomic<bool> & stop_;
    ggml_backend_ptr cpu_;
    ggml_context_ptr operands_ctx_;
    ggml_backend_buffer_ptr buffer_;
    std::vector<ggml_tensor *> operands_;
    std::vector<std::unique_ptr<Graph>> graphs_;
};

} // namespace op_bench
