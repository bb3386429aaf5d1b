// Runs graphs on the devices of this process: the CPU, and before it whatever else there is and is asked for.
// One graph at a time has storage; another one takes it over.
#pragma once

#include "ggml-cpp.h"
#include "nn/graph.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace sd {

class Runner {
  public:
    // threads < 1: one for each physical core.
    explicit Runner(int threads);

    int threads() const { return threads_; }
    ggml_backend_buffer_type_t weight_memory() const;

    // Bytes of working memory the graph needs, without taking them.
    size_t memory_of(const Graph & g);

    // Gives the graph storage, so that inputs can be set. An Error when there is not enough memory.
    void allocate(Graph & g);

    void set(ggml_tensor * tensor, const void * data, size_t bytes);
    void set(ggml_tensor * tensor, const std::vector<float> & values) {
        set(tensor, values.data(), values.size() * sizeof(float));
    }

    // Throws Error: E_CANCELLED soon after `cancel` was set, from any thread; else the reason it failed.
    void compute(Graph & g, const std::atomic<bool> * cancel);

    std::vector<float> floats(const ggml_tensor * tensor) const;

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
