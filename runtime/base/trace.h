// What happens when, as a file for Perfetto or chrome://tracing. Promise: while no trace runs, a scope is one
// relaxed load and a branch; while one runs, memory is bounded (finished pieces go to a temporary file, which
// takes the asked-for name when the trace ends) and scopes may end on any thread at any time. Times are those
// of the calling thread: where a device works asynchronously, of handing it the work.
#pragma once

#include "runtime/base/status.h"

#include <atomic>
#include <concepts>
#include <cstdint>

namespace ggml {

// Number of the trace that runs; 0: none.
inline constinit std::atomic<uint32_t> running_trace = 0;

// Failures: "trace.running", "trace.not_running", "trace.file". May throw std::bad_alloc.
Status begin_trace(const char * file_name);
Status end_trace();

// What a scope is about. The texts must live as long as the scope.
struct TraceWords {
    const char * name;
    const char * backend = nullptr;
    const char * detail = nullptr;
    int n_nodes = -1; // -1: not about nodes
};

class TraceScope {
  public:
    TraceScope(const char * category, const char * name) noexcept {
        if (running_trace.load(std::memory_order_relaxed) != 0) [[unlikely]]
            begin(category, {name});
    }
    // words() is asked for its TraceWords only while a trace runs.
    template <std::invocable Words>
    TraceScope(const char * category, Words && words) noexcept {
        if (running_trace.load(std::memory_order_relaxed) != 0) [[unlikely]]
            begin(category, words());
    }
    ~TraceScope() {
        if (trace_ != 0) [[unlikely]]
            end();
    }
    TraceScope(const TraceScope &) = delete;
    TraceScope & operator=(const TraceScope &) = delete;

  private:
    void begin(const char * category, const TraceWords & words) noexcept;
    void end() noexcept;

    uint32_t trace_ = 0; // the one it belongs to; 0: nothing is recorded, and the rest is not even set
    int n_nodes_;
    const char *category_, *name_, *backend_, *detail_;
    int64_t began_;
};

} // namespace ggml
