// Runs graphs on a device of this process and, what it cannot run, on the CPU. One graph at a time has
// storage; another one takes it over.
#pragma once

#include "ggml-cpp.h"
#include "nn/graph.h"
#include "place/placement.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sd {

// Bytes of working memory: on the device, and of the CPU beside it. scratch: what the CPU's own kernels use
// in addition.
struct WorkMemory {
    uint64_t own = 0, host = 0, scratch = 0;
    uint64_t sum() const { return own + host + scratch; }
};

class Runner {
  public:
    // threads < 1: one for each physical core. device: its number in the process; below 0: the CPU.
    explicit Runner(int threads, int device = -1);

    int threads() const { return threads_; }
    ggml_backend_buffer_type_t weight_memory() const;
    bool on_cpu() const { return backends_.size() == 1; }
    std::string device_name() const;
    // Bytes that can still be taken where graphs run.
    uint64_t free_memory() const;
    // The same within a budget.
    uint64_t room(const std::optional<MemoryBudget> & budget) const;
    // What to do where a part that needs so many bytes at least has less room.
    std::string advice(const std::optional<MemoryBudget> & budget, uint64_t needed, uint64_t room) const;

    // What the graph needs, without taking it.
    WorkMemory memory_of(const Graph & g);

    // Gives the graph storage, so that inputs can be set. An Error when there is not enough memory.
    void allocate(Graph & g);

    void set(ggml_tensor * tensor, const void * data, size_t bytes);
    void set(ggml_tensor * tensor, const std::vector<float> & values) {
        set(tensor, values.data(), values.size() * sizeof(float));
    }

    // Throws Error: E_CANCELLED soon after `cancel` was set, from any thread; else the reason it failed.
    void compute(Graph & g, const std::atomic<bool> * cancel);

    static std::vector<float> floats(const ggml_tensor * tensor);

    // Which implementation each node of a graph would get, as text or JSON (docs/extension-api.md).
    std::string explain(const Graph & g, bool json);

    // Forgets the graph and gives its storage back.
    void release();

  private:
    void make_scheduler(size_t tensors);
    void start(const Graph & g); // forgets the graph before and gets ready for this one

    int threads_;
    std::vector<ggml_backend_ptr> backends_; // the CPU is the last
    ggml_backend_sched_ptr scheduler_;
};

} // namespace sd
