// ggml_graph_plan / ggml_graph_compute: running a graph on the CPU without a backend object.
#include "backends/cpu/run.h"
#include "backends/cpu/threadpool.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"
#include "runtime/graph/graph.h"

#include <cstdint>

namespace ggml::cpu {
namespace {

std::span<std::byte> aligned_scratch(uint8_t * data, size_t size) {
    if (data == nullptr || size < kScratchAlignment) return {};
    const uintptr_t base = reinterpret_cast<uintptr_t>(data);
    const size_t skip = align_up(base, kScratchAlignment) - base;
    return {reinterpret_cast<std::byte *>(data) + skip, size - skip};
}

int thread_count(int n_threads, const ggml_threadpool * threadpool) {
    if (n_threads <= 0)
        n_threads = threadpool != nullptr ? threadpool->params.n_threads : GGML_DEFAULT_N_THREADS;
    return n_threads < GGML_MAX_N_THREADS ? n_threads : GGML_MAX_N_THREADS;
}

} // namespace
} // namespace ggml::cpu

extern "C" {

ggml_cplan ggml_graph_plan(const ggml_cgraph * cgraph, int n_threads, ggml_threadpool * threadpool) {
    ggml_cplan plan = {};
    plan.n_threads = ggml::cpu::thread_count(n_threads, threadpool);
    plan.threadpool = threadpool;
    // The caller may switch to the reference after planning, so the buffer must do for both.
    const size_t fast = ggml::cpu::scratch_bytes(cgraph->nodes, cgraph->n_nodes, plan.n_threads, false);
    const size_t reference = ggml::cpu::scratch_bytes(cgraph->nodes, cgraph->n_nodes, plan.n_threads, true);
    plan.work_size = fast > reference ? fast : reference;
    return plan;
}

ggml_status ggml_graph_compute(ggml_cgraph * cgraph, ggml_cplan * cplan) {
    if (cplan->n_threads < 1 || cplan->n_threads > GGML_MAX_N_THREADS) {
        GGML_LOG_ERROR("ggml_graph_compute: %d threads, 1 to %d are possible\n", cplan->n_threads,
                       GGML_MAX_N_THREADS);
        return GGML_STATUS_FAILED;
    }
    // The caller owns the plan and may have changed it: more threads need more memory.
    const size_t needed =
        ggml::cpu::scratch_bytes(cgraph->nodes, cgraph->n_nodes, cplan->n_threads, cplan->use_ref);
    const size_t given = cplan->work_data != nullptr ? cplan->work_size : 0;
    if (given < needed || given < cplan->work_size) {
        GGML_LOG_ERROR("ggml_graph_compute: a work buffer of %zu bytes was given, %zu were planned and %d "
                       "threads need %zu\n",
                       given, cplan->work_size, cplan->n_threads, needed);
        return GGML_STATUS_FAILED;
    }
    const ggml::cpu::Team team(cplan->n_threads, cplan->abort_callback, cplan->abort_callback_data);
    const ggml::cpu::KernelContext ctx{team, ggml::cpu::aligned_scratch(cplan->work_data, cplan->work_size)};
    return ggml::cpu::run_nodes(ctx, cgraph->nodes, cgraph->n_nodes, cplan->use_ref);
}

ggml_status ggml_graph_compute_with_ctx(ggml_context * ctx, ggml_cgraph * cgraph, int n_threads) {
    ggml_cplan plan = ggml_graph_plan(cgraph, n_threads, nullptr);
    if (plan.work_size > 0) plan.work_data = static_cast<uint8_t *>(ggml_new_buffer(ctx, plan.work_size));
    return ggml_graph_compute(cgraph, &plan);
}

} // extern "C"
