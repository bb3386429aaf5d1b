#include "backends/cpu/team.h"

#include <omp.h>

namespace ggml::cpu {

Team::Team(int n_threads, ggml_abort_callback abort, void * abort_data)
    : n_threads_(n_threads < 1 ? 1 : n_threads), abort_(abort), abort_data_(abort_data) {
    // Library code (oneDNN) called between sections sizes its own sections from this.
    omp_set_num_threads(n_threads_);
}

void Team::run_raw(int n_tasks, RawFn fn, void * ctx) const {
    const int n = n_tasks < n_threads_ ? n_tasks : n_threads_;
    if (n <= 1) {
        fn(ctx, 0, 1);
        return;
    }
#pragma omp parallel num_threads(n)
    fn(ctx, omp_get_thread_num(), omp_get_num_threads());
}

} // namespace ggml::cpu
