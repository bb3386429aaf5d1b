// What kernels of the CPU use: its thread team, its instruction sets. Everything comes from the backend's
// services, so that the configured threads, the abort callback and GGML_CPU_ISA hold for operators of the
// engine too.
#pragma once

#include "ggml-ext.h"

#include <cstdint>
#include <memory>
#include <type_traits>

namespace sd {

// Levels as in GGML_CPU_ISA; scalar always works.
enum class Isa { scalar, avx2, avxvnni, avx512vnni, neon_dotprod };
bool cpu_may_use(Isa isa);

// Threads of the backend's team, for workspace per thread.
int cpu_threads(ggml_backend_t backend);

// Runs task(ith, nth) on at most n_tasks threads. What it returns other than SUCCESS ends the kernel.
ggml_status cpu_run_raw(ggml_backend_t backend, int n_tasks, ggml_ext_cpu_task_t task, void * data);

template <class Fn>
ggml_status cpu_run(ggml_backend_t backend, int n_tasks, Fn && fn) {
    return cpu_run_raw(
        backend, n_tasks,
        [](int ith, int nth, void * data) { (*static_cast<std::remove_reference_t<Fn> *>(data))(ith, nth); },
        const_cast<void *>(static_cast<const void *>(std::addressof(fn))));
}

// Items [begin, end) of n for thread ith of nth.
struct Range {
    int64_t begin, end;
};
inline Range part_of(int64_t n, int ith, int nth) { return {n * ith / nth, n * (ith + 1) / nth}; }

} // namespace sd
