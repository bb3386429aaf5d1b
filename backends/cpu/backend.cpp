#include "backends/cpu/backend.h"

#include "backends/cpu/room.h"
#include "backends/cpu/threadpool.h"
#include "runtime/base/log.h"
#include "runtime/base/math.h"
#include "runtime/graph/graph.h"

#include <new>
#include <vector>

namespace ggml::cpu {

std::span<std::byte> Scratch::reserve(size_t bytes) {
    if (bytes > size_) {
        data_.reset();
        size_ = 0;
        size_t rounded = 0;
        if (!checked_align_up(bytes, kScratchAlignment, rounded)) return {};
        data_.reset(static_cast<std::byte *>(std::aligned_alloc(kScratchAlignment, rounded)));
        if (data_ == nullptr) return {};
        size_ = rounded;
    }
    return {data_.get(), size_};
}

ggml_status backend_compute(CpuBackend & backend, ggml_tensor * const * nodes, int n_nodes) {
    const Team team(backend.n_threads, backend.abort, backend.abort_data);
    if (!has_room_to_start(team)) return report_no_room("the threads");
    const ScratchNeed need = scratch_need(nodes, n_nodes, backend.n_threads, backend.use_ref);
    const std::span<std::byte> scratch = backend.scratch.reserve(need.bytes);
    if (scratch.size() < need.bytes) return report_no_scratch(need);
    return run_nodes(KernelContext{team, scratch}, nodes, n_nodes, backend.use_ref);
}

namespace {

CpuBackend & state(ggml_backend_t backend) { return *static_cast<CpuBackend *>(backend->context); }

const char * get_name(ggml_backend_t) { return "CPU"; }

void free_backend(ggml_backend_t backend) {
    delete static_cast<CpuBackend *>(backend->context);
    delete backend;
}

// A plan owns its node list, so the graph object may go; tensors must stay.
struct GraphPlan {
    std::vector<ggml_tensor *> nodes;
};

ggml_backend_graph_plan_t plan_create(ggml_backend_t, const ggml_cgraph * graph) {
    return new (std::nothrow) GraphPlan{{graph->nodes, graph->nodes + graph->n_nodes}};
}

void plan_free(ggml_backend_t, ggml_backend_graph_plan_t plan) { delete static_cast<GraphPlan *>(plan); }

ggml_status plan_compute(ggml_backend_t backend, ggml_backend_graph_plan_t plan) {
    const auto & nodes = static_cast<GraphPlan *>(plan)->nodes;
    return backend_compute(state(backend), nodes.data(), int(nodes.size()));
}

ggml_status graph_compute(ggml_backend_t backend, ggml_cgraph * graph) {
    return backend_compute(state(backend), graph->nodes, graph->n_nodes);
}

const ggml_backend_i kInterface = {
    .get_name = get_name,
    .free = free_backend,
    .set_tensor_async = nullptr,
    .get_tensor_async = nullptr,
    .cpy_tensor_async = nullptr,
    .synchronize = nullptr,
    .graph_plan_create = plan_create,
    .graph_plan_free = plan_free,
    .graph_plan_compute = plan_compute,
    .graph_compute = graph_compute,
    .event_record = nullptr,
    .event_wait = nullptr,
    .graph_optimize = nullptr,
};

ggml_guid_t cpu_guid() {
    static ggml_guid guid = {0x63, 0x72, 0x74, 0x2d, 0x63, 0x70, 0x75, 0x01,
                             0x9a, 0x4e, 0x51, 0xb0, 0x2f, 0xd3, 0x77, 0x0c};
    return &guid;
}

} // namespace
} // namespace ggml::cpu

extern "C" {

ggml_backend_t ggml_backend_cpu_init(void) {
    using namespace ggml::cpu;
    ggml_cpu_init();
    std::unique_ptr<CpuBackend> context(new (std::nothrow) CpuBackend);
    if (context == nullptr) return nullptr;
    ggml_backend_t backend =
        new (std::nothrow) ggml_backend{cpu_guid(), kInterface, cpu_device(), context.get()};
    if (backend != nullptr) context.release();
    return backend;
}

bool ggml_backend_is_cpu(ggml_backend_t backend) {
    return backend != nullptr && backend->guid == ggml::cpu::cpu_guid();
}

void ggml_backend_cpu_set_n_threads(ggml_backend_t backend_cpu, int n_threads) {
    GGML_ASSERT(ggml_backend_is_cpu(backend_cpu));
    GGML_ASSERT(n_threads >= 1 && n_threads <= GGML_MAX_N_THREADS);
    ggml::cpu::state(backend_cpu).n_threads = n_threads;
}

void ggml_backend_cpu_set_threadpool(ggml_backend_t backend_cpu, ggml_threadpool_t threadpool) {
    if (threadpool != nullptr) ggml_backend_cpu_set_n_threads(backend_cpu, threadpool->params.n_threads);
}

void ggml_backend_cpu_set_abort_callback(ggml_backend_t backend_cpu, ggml_abort_callback callback,
                                         void * data) {
    GGML_ASSERT(ggml_backend_is_cpu(backend_cpu));
    ggml::cpu::state(backend_cpu).abort = callback;
    ggml::cpu::state(backend_cpu).abort_data = data;
}

void ggml_backend_cpu_set_use_ref(ggml_backend_t backend_cpu, bool use_ref) {
    GGML_ASSERT(ggml_backend_is_cpu(backend_cpu));
    ggml::cpu::state(backend_cpu).use_ref = use_ref;
}

} // extern "C"
