#include "runtime/backend/extension_seam.h"
#include "runtime/backend/interface.h"
#include "runtime/base/log.h"
#include "runtime/graph/graph.h"

#include "ggml-graph.h"

extern "C" {

ggml_guid_t ggml_backend_guid(ggml_backend_t backend) { return backend != nullptr ? backend->guid : nullptr; }

const char * ggml_backend_name(ggml_backend_t backend) {
    return backend != nullptr ? backend->iface.get_name(backend) : "NULL";
}

void ggml_backend_free(ggml_backend_t backend) {
    if (backend == nullptr) return;
    ggml::forget_backend(backend);
    backend->iface.free(backend);
}

ggml_backend_dev_t ggml_backend_get_device(ggml_backend_t backend) {
    GGML_ASSERT(backend != nullptr);
    return backend->device;
}

ggml_backend_buffer_type_t ggml_backend_get_default_buffer_type(ggml_backend_t backend) {
    return ggml_backend_dev_buffer_type(ggml_backend_get_device(backend));
}

ggml_backend_buffer_t ggml_backend_alloc_buffer(ggml_backend_t backend, size_t size) {
    return ggml_backend_buft_alloc_buffer(ggml_backend_get_default_buffer_type(backend), size);
}

size_t ggml_backend_get_alignment(ggml_backend_t backend) {
    return ggml_backend_buft_get_alignment(ggml_backend_get_default_buffer_type(backend));
}

size_t ggml_backend_get_max_size(ggml_backend_t backend) {
    return ggml_backend_buft_get_max_size(ggml_backend_get_default_buffer_type(backend));
}

void ggml_backend_synchronize(ggml_backend_t backend) {
    GGML_ASSERT(backend != nullptr);
    if (backend->iface.synchronize != nullptr) backend->iface.synchronize(backend);
}

ggml_backend_graph_plan_t ggml_backend_graph_plan_create(ggml_backend_t backend, ggml_cgraph * cgraph) {
    GGML_ASSERT(backend != nullptr && cgraph != nullptr);
    return backend->iface.graph_plan_create != nullptr ? backend->iface.graph_plan_create(backend, cgraph)
                                                       : nullptr;
}

void ggml_backend_graph_plan_free(ggml_backend_t backend, ggml_backend_graph_plan_t plan) {
    GGML_ASSERT(backend != nullptr);
    if (plan != nullptr) backend->iface.graph_plan_free(backend, plan);
}

ggml_status ggml_backend_graph_plan_compute(ggml_backend_t backend, ggml_backend_graph_plan_t plan) {
    GGML_ASSERT(backend != nullptr && plan != nullptr);
    return backend->iface.graph_plan_compute(backend, plan);
}

ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend, ggml_cgraph * cgraph) {
    GGML_ASSERT(backend != nullptr && cgraph != nullptr);
    return ggml::compute_graph(backend, cgraph);
}

ggml_status ggml_backend_graph_compute(ggml_backend_t backend, ggml_cgraph * cgraph) {
    const ggml_status status = ggml_backend_graph_compute_async(backend, cgraph);
    ggml_backend_synchronize(backend);
    return status;
}

ggml_status ggml_backend_graph_compute_range(ggml_backend_t backend, ggml_cgraph * graph, int first, int n) {
    GGML_ASSERT(backend != nullptr && graph != nullptr);
    if (first < 0 || n < 0 || first > graph->n_nodes || n > graph->n_nodes - first) {
        GGML_LOG_ERROR("ggml_backend_graph_compute_range: nodes [%d, %d + %d) of a graph with %d nodes\n",
                       first, first, n, graph->n_nodes);
        return GGML_STATUS_FAILED;
    }
    if (n == 0) return GGML_STATUS_SUCCESS;
    // A view shares the counts, so a node whose reader lies outside the range keeps that reader.
    ggml_cgraph range = ggml::graph_view(graph, first, n);
    return ggml_backend_graph_compute(backend, &range);
}

bool ggml_backend_supports_op(ggml_backend_t backend, const ggml_tensor * op) {
    return ggml_backend_dev_supports_op(ggml_backend_get_device(backend), op);
}

bool ggml_backend_supports_buft(ggml_backend_t backend, ggml_backend_buffer_type_t buft) {
    return ggml_backend_dev_supports_buft(ggml_backend_get_device(backend), buft);
}

bool ggml_backend_offload_op(ggml_backend_t backend, const ggml_tensor * op) {
    return ggml_backend_dev_offload_op(ggml_backend_get_device(backend), op);
}

} // extern "C"
