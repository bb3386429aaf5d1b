#include "ggml.h"

#include <algorithm>

void ggml_threadpool_params_init(ggml_threadpool_params * p, int n_threads) {
    *p = {}; // an all-false mask means the affinity inherited from the caller
    p->n_threads = n_threads;
    p->prio = GGML_SCHED_PRIO_NORMAL;
    p->poll = 50;
}

ggml_threadpool_params ggml_threadpool_params_default(int n_threads) {
    ggml_threadpool_params params;
    ggml_threadpool_params_init(&params, n_threads);
    return params;
}

// `paused` is a state, not a property: a paused pool still matches.
bool ggml_threadpool_params_match(const ggml_threadpool_params * p0, const ggml_threadpool_params * p1) {
    return p0->n_threads == p1->n_threads && p0->prio == p1->prio && p0->poll == p1->poll &&
           p0->strict_cpu == p1->strict_cpu &&
           std::equal(p0->cpumask, p0->cpumask + GGML_MAX_N_THREADS, p1->cpumask);
}
