// State of one CPU backend ("stream"): configuration, and scratch memory that grows to the largest graph
// seen. Computation is synchronous. One thread uses a backend at a time.
#pragma once

#include "backends/cpu/run.h"
#include "ggml-cpu.h"
#include "runtime/backend/interface.h"

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace ggml::cpu {

class Scratch {
  public:
    // At least `bytes` usable bytes, 64-byte aligned; contents are lost. Empty span with bytes > 0: out of
    // memory.
    std::span<std::byte> reserve(size_t bytes);

  private:
    struct Free {
        void operator()(std::byte * p) const { std::free(p); }
    };
    std::unique_ptr<std::byte, Free> data_;
    size_t size_ = 0;
};

struct CpuBackend {
    int n_threads = GGML_DEFAULT_N_THREADS;
    bool use_ref = false;
    ggml_abort_callback abort = nullptr;
    void * abort_data = nullptr;
    Scratch scratch;
};

// The single CPU device of this process.
ggml_backend_dev_t cpu_device();

// Runs nodes of a graph on this backend's configuration.
ggml_status backend_compute(CpuBackend & backend, ggml_tensor * const * nodes, int n_nodes);

} // namespace ggml::cpu
