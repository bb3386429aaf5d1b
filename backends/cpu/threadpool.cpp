#include "backends/cpu/threadpool.h"

#include "runtime/base/log.h"

#include <new>

extern "C" {

ggml_threadpool * ggml_threadpool_new(ggml_threadpool_params * params) {
    if (params == nullptr || params->n_threads < 1 || params->n_threads > GGML_MAX_N_THREADS) {
        GGML_LOG_ERROR("ggml_threadpool_new: the number of threads must be 1 to %d\n", GGML_MAX_N_THREADS);
        return nullptr;
    }
    return new (std::nothrow) ggml_threadpool{*params, params->paused};
}

void ggml_threadpool_free(ggml_threadpool * threadpool) { delete threadpool; }

int ggml_threadpool_get_n_threads(ggml_threadpool * threadpool) { return threadpool->params.n_threads; }

void ggml_threadpool_pause(ggml_threadpool * threadpool) { threadpool->paused = true; }

void ggml_threadpool_resume(ggml_threadpool * threadpool) { threadpool->paused = false; }

} // extern "C"
