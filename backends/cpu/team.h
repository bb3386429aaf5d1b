// The thread team: one caller thread drives a graph and asks for parallel sections; between sections the
// other threads idle. It is an OpenMP team, the same one oneDNN uses, so library calls and our kernels never
// compete for cores. A section never nests; work inside it must not throw.
#pragma once

#include "ggml.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace ggml::cpu {

class Team {
  public:
    // n_threads >= 1, the caller included; no more than OMP_THREAD_LIMIT allows. OMP_DYNAMIC is turned off.
    explicit Team(int n_threads, ggml_abort_callback abort = nullptr, void * abort_data = nullptr);

    int n_threads() const { return n_threads_; }

    // Asks the abort callback. Called between parallel phases, from the driving thread only.
    bool aborted() const { return abort_ != nullptr && abort_(abort_data_); }

    // Runs fn(ith, nth) for each ith below nth = min(n_tasks, n_threads) and returns when all are done, each
    // on a thread of its own where OpenMP has as many (one after the other inside somebody else's parallel
    // region): calls must not wait for each other. n_tasks == 1 calls fn directly: no synchronization.
    template <class Fn>
    void run(int n_tasks, Fn && fn) const {
        run_raw(
            n_tasks,
            [](void * ctx, int ith, int nth) {
                (*static_cast<std::remove_reference_t<Fn> *>(ctx))(ith, nth);
            },
            const_cast<void *>(static_cast<const void *>(std::addressof(fn))));
    }

    // Splits [0, n) into contiguous ranges, at least `grain` items each, one per thread: fn(begin, end).
    // Ranges depend on n, grain and the thread count only.
    template <class Fn>
    void parallel_for(int64_t n, int64_t grain, Fn && fn) const {
        if (n <= 0) return;
        const int64_t tasks = (n + grain - 1) / (grain < 1 ? 1 : grain);
        run(tasks < n_threads_ ? int(tasks) : n_threads_, [&](int ith, int nth) {
            const int64_t begin = n * ith / nth, end = n * (ith + 1) / nth;
            if (begin < end) fn(begin, end);
        });
    }

    // Hands out chunks of `chunk` items dynamically, for work whose cost per item varies: fn(begin, end), any
    // thread, any order. Only for results that do not depend on who computes them.
    template <class Fn>
    void parallel_chunks(int64_t n, int64_t chunk, Fn && fn) const {
        if (n <= 0) return;
        std::atomic<int64_t> next{0};
        const int64_t tasks = (n + chunk - 1) / chunk;
        run(tasks < n_threads_ ? int(tasks) : n_threads_, [&](int, int) {
            for (int64_t i = next.fetch_add(chunk); i < n; i = next.fetch_add(chunk))
                fn(i, i + chunk < n ? i + chunk : n);
        });
    }

  private:
    using RawFn = void (*)(void * ctx, int ith, int nth);
    void run_raw(int n_tasks, RawFn fn, void * ctx) const;

    int n_threads_;
    ggml_abort_callback abort_;
    void * abort_data_;
};

// Ends a section whose work may take seconds between two of its items. The driving thread, the first of a
// section, asks the abort callback, as outside of sections; the others see what it was told.
class SectionStop {
  public:
    explicit SectionStop(const Team & team) : team_(team) {}

    // Whether thread `ith` takes no further item.
    bool asked(int ith) {
        if (ith == 0 && team_.aborted()) stop_.store(true, std::memory_order_relaxed);
        return asked();
    }
    bool asked() const { return stop_.load(std::memory_order_relaxed); }

  private:
    const Team & team_;
    std::atomic<bool> stop_{false};
};

// Elements of simple work below which a second thread costs more than it saves (a section costs about 1-3
// us).
inline constexpr int64_t kParallelGrain = 16 * 1024;

} // namespace ggml::cpu
