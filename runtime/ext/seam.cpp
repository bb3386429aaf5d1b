// What devices and backends ask the extension core (runtime/backend/extension_seam.h).
#include "runtime/backend/extension_seam.h"

#include "runtime/backend/interface.h"
#include "runtime/base/log.h"
#include "runtime/base/trace.h"
#include "runtime/ext/registry/store.h"
#include "runtime/ext/replay/replay.h"
#include "runtime/ext/run/run.h"
#include "runtime/ext/selection/ask.h"

#include <exception>

namespace ggml {
namespace {

// Apart, or the short way below would save all the registers this one needs.
[[gnu::noinline]] bool supports_with_extensions(ggml_backend_dev_t device, const ggml_tensor * op) {
    ext::freeze(device, ext::Frozen::capability_query);
    const ext::DeviceKernels * kernels = ext::kernels_of(device);
    if (kernels != nullptr && ext::asks_itself(device, op)) return false;
    if (device->iface.supports_op(device, op)) return true;
    return kernels != nullptr && ext::some_kernel_supports(*kernels, op, ext::Policy::of_environment());
}

ggml_status compute_with_kernels(ggml_backend_t backend, ggml_cgraph * graph) {
    ext::PlanRequest request;
    request.backend = backend;
    request.buft = ggml_backend_get_default_buffer_type(backend);
    request.graph = graph;
    request.policy = &ext::Policy::of_environment();
    request.placed = true;
    ext::Plan plan(request);
    ext::select(plan, request);
    if (!plan.has_extensions) return backend->iface.graph_compute(backend, graph);
    ext::Verdict why;
    ggml_status status = ext::prepare(plan, request, &why);
    std::shared_ptr<ext::Workspace> workspace;
    if (status == GGML_STATUS_SUCCESS && plan.workspace_bytes > 0) {
        workspace = ext::Workspace::allocate(request.buft, plan.workspace_bytes, &why);
        if (workspace == nullptr) status = GGML_STATUS_ALLOC_FAILED;
    }
    if (status != GGML_STATUS_SUCCESS) {
        GGML_LOG_ERROR("ggml_ext: %s\n", why.message().c_str());
        return status;
    }
    status = ext::run(plan, workspace.get(), nullptr);
    // State and workspace end with this call, so queued work has to be done by then, also after a failure.
    ggml_backend_synchronize(backend);
    return status;
}

} // namespace

// Asked about every node of every graph: where nothing is registered it is two loads and a jump.
bool device_supports_op(ggml_backend_dev_t device, const ggml_tensor * op) {
    const bool is_frozen = ext::frozen(device).load(std::memory_order_acquire) != int(ext::Frozen::no);
    const bool is_plain = ext::published(device).load(std::memory_order_acquire) == nullptr;
    if (is_frozen && is_plain) return device->iface.supports_op(device, op);
    return supports_with_extensions(device, op);
}

ggml_status compute_graph(ggml_backend_t backend, ggml_cgraph * graph) {
    const TraceScope scope("direct", [&]() -> TraceWords {
        return {"direct computation", ggml_backend_name(backend), nullptr, graph->n_nodes};
    });
    ext::freeze(backend->device, ext::Frozen::direct_compute);
    if (ext::kernels_of(backend->device) == nullptr) return backend->iface.graph_compute(backend, graph);
    try {
        return compute_with_kernels(backend, graph);
    } catch (const std::exception & e) {
        GGML_LOG_ERROR("ggml_ext: out of memory while planning %d nodes (%s)\n", graph->n_nodes, e.what());
        return GGML_STATUS_ALLOC_FAILED;
    }
}

void forget_backend(ggml_backend_t backend) { ext::release_recordings(backend); }

} // namespace ggml
