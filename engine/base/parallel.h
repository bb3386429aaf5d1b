// Work on many parts by several threads, for loading and converting. Graphs have their own threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace sd {

struct ParallelOptions {
    int threads = 0; // 0: one for each core the process may use
    // Set from anywhere to stop before the next part: an Error with the code E_CANCELLED.
    const std::atomic<bool> * cancel = nullptr;
    // How much more is done, in the caller's unit. From any of the threads, one call at a time.
    std::function<void(uint64_t)> progress;
};

// Calls body(i) for each i in [0, parts) once, in no order, by the calling thread and others; body returns
// what to tell progress. The first exception of a body stops the rest and is thrown again when all have
// ended. Where threads cannot be had, fewer do the work.
void parallel_parts(int64_t parts, const ParallelOptions & options,
                    const std::function<uint64_t(int64_t)> & body);

} // namespace sd
