// ggml_graph_plan / ggml_graph_compute: running a graph on the CPU without a backend object.
#include "backends/cpu/room.h"
#include "backends/cpu/run.h"
#include "backends/cpu/threadpool.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"
#include "runtime/graph/graph.h"
#include "runtime/tensor/context.h"

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

// The caller may switch to the reference after planning, so the buffer must do for both.
ScratchNeed plan_need(const ggml_cgraph * graph, int n_threads) {
    const ScratchNeed fast = scratch_need(graph->nodes, graph->n_nodes, n_threads, false);
    const ScratchNeed reference = scratch_need(graph->nodes, graph->n_nodes, n_threads, true);
    return fast.bytes > reference.bytes ? fast : reference;
}

} // namespace
} // namespace ggml::cpu

extern "C" {

ggml_cplan ggml_graph_plan(const ggml_cgraph * cgraph, int n_threads, ggml_threadpool * threadpool) {
    ggml_cplan plan = {};
    plan.n_threads = ggml::cpu::thread_count(n_threads, threadpool);
    plan.threadpool = threadpool;
    plan.work_size = ggml::cpu::plan_need(cgraph, plan.n_threads).bytes;
    return plan;
}

ggml_status ggml_graph_compute(ggml_cgraph * cgraph, ggml_cplan * cplan) {
    if (cplan->n_threads < 1 || cplan->n_threads > GGML_MAX_N_THREADS) {
        GGML_LOG_ERROR("ggml_graph_compute: %d threads, 1 to %d are possible\n", cplan->n_threads,
                       GGML_MAX_N_THREADS);
        return GGML_STATUS_FAILED;
    }
    // The caller owns the plan and may have changed it: more threads need more memory.
    const ggml::cpu::ScratchNeed need =
        ggml::cpu::scratch_need(cgraph->nodes, cgraph->n_nodes, cplan->n_threads, cplan->use_ref);
    if (need.bytes == SIZE_MAX) return ggml::cpu::report_no_scratch(need);
    const size_t given = cplan->work_data != nullptr ? cplan->work_size : 0;
    if (given < need.bytes || given < cplan->work_size) {
        GGML_LOG_ERROR("ggml_graph_compute: a work buffer of %zu bytes was given, %zu were planned and %d "
                       "threads need %zu\n",
                       given, cplan->work_size, cplan->n_threads, need.bytes);
        return GGML_STATUS_FAILED;
    }
    const ggml::cpu::Team team(cplan->n_threads, cplan->abort_callback, cplan->abort_callback_data);
    if (!ggml::cpu::has_room_to_start(team)) return ggml::cpu::report_no_room("the threads");
    const ggml::cpu::KernelContext ctx{team, ggml::cpu::aligned_scratch(cplan->work_data, cplan->work_size)};
    return ggml::cpu::run_nodes(ctx, cgraph->nodes, cgraph->n_nodes, cplan->use_ref);
}

ggml_status ggml_graph_compute_with_ctx(ggml_context * ctx, ggml_cgraph * cgraph, int n_threads) {
    ggml_cplan plan = ggml_graph_plan(cgraph, n_threads, nullptr);
    if (plan.work_size > 0) {
        plan.work_data =
            static_cast<uint8_t *>(ggml::arena_try_new(ctx, GGML_OBJECT_TYPE_WORK_BUFFER, plan.work_size));
        if (plan.work_data == nullptr)
            return ggml::cpu::report_no_scratch(ggml::cpu::plan_need(cgraph, plan.n_threads));
    }
    return ggml_graph_compute(cgraph, &plan);
}

} // extern "C"
