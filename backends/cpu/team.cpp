#include "backends/cpu/team.h"

#include <omp.h>

#include <algorithm>

namespace ggml::cpu {

Team::Team(int n_threads, ggml_abort_callback abort, void * abort_data)
    : n_threads_(std::clamp(n_threads, 1, std::max(omp_get_thread_limit(), 1))), abort_(abort),
      abort_data_(abort_data) {
    // oneDNN plans with the threads it is told and is wrong when OpenMP then gives fewer of them.
    omp_set_dynamic(0);
    if (omp_get_max_active_levels() < 1) omp_set_max_active_levels(1);
    // Library code (oneDNN) called between sections sizes its own sections from this.
    omp_set_num_threads(n_threads_);
}

void Team::run_raw(int n_tasks, RawFn fn, void * ctx) const {
    const int n = n_tasks < n_threads_ ? n_tasks : n_threads_;
    if (n <= 1) {
        fn(ctx, 0, 1);
        return;
    }
    // OpenMP may give fewer threads than it is asked for: its limits, OMP_DYNAMIC, somebody else's section.
    // Shares of the work are those of n all the same, because results and scratch were planned with them.
#pragma omp parallel num_threads(n)
    for (int ith = omp_get_thread_num(), step = omp_get_num_threads(); ith < n; ith += step) fn(ctx, ith, n);
}

} // namespace ggml::cpu
