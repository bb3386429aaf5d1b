#include "tests/support/test_device_compute.h"

#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "runtime/backend/interface.h"
#include "runtime/graph/graph.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace ggml::test {
namespace {

struct Mirror {
    ggml_context_ptr context;
    ggml_cgraph * graph = nullptr;
    std::unordered_map<const ggml_tensor *, ggml_tensor *> tensors;
    std::unordered_map<const ggml_tensor *, std::vector<char>> scratch; // of nodes without storage

    // Where the bytes of a tensor are, or of what it shows.
    void * address_of(const ggml_tensor * t) {
        const ggml_tensor * owner = t->view_src != nullptr ? t->view_src : t;
        const auto found = scratch.find(owner);
        return found != scratch.end() ? found->second.data() + t->view_offs : real_address(t);
    }

    ggml_tensor * of(const ggml_tensor * t) {
        ggml_tensor *& m = tensors[t];
        if (m != nullptr) return m;
        m = ggml_new_tensor(context.get(), t->type, GGML_MAX_DIMS, t->ne);
        *m = *t;
        m->data = address_of(t);
        m->buffer = nullptr;
        m->view_src = nullptr;
        m->extra = nullptr;
        // A source is data; nodes get their sources afterwards.
        for (ggml_tensor *& src : m->src) src = nullptr;
        return m;
    }
};

bool is_skipped(const TestDevice & device, const ggml_cgraph * graph, const ggml_tensor * node) {
    return node->data == nullptr && node->view_src == nullptr && device.options.skip_alloc &&
           device.options.skip_alloc(graph, node);
}

bool is_reachable(const TestDevice & device, const Mirror & mirror, const ggml_tensor * t) {
    const ggml_tensor * owner = t->view_src != nullptr ? t->view_src : t;
    return ggml_nelements(t) == 0 || mirror.scratch.contains(owner) || lies_in(device, t);
}

} // namespace

bool lies_in(const TestDevice & device, const ggml_tensor * t) {
    ggml_backend_buffer_t buffer = t->view_src != nullptr ? t->view_src->buffer : t->buffer;
    return buffer != nullptr && t->data != nullptr && buffer->buft->context == &device;
}

std::function<bool()> mirror_graph(TestDevice & device, const ggml_cgraph * graph) {
    const size_t n = size_t(graph->n_nodes);
    auto mirror = std::make_shared<Mirror>();
    const size_t bytes =
        n * (GGML_MAX_SRC + 1) * ggml_tensor_overhead() + ggml_graph_overhead_custom(n + 1, false);
    mirror->context.reset(ggml_init({bytes, nullptr, /*no_alloc=*/true}));
    mirror->graph = ggml_new_graph_custom(mirror->context.get(), n + 1, false);
    for (size_t i = 0; i < n; ++i) {
        const ggml_tensor * node = graph->nodes[i];
        // Runs no code, and may show memory of another device to a later copy.
        if (op_is_metadata_only(node->op)) continue;
        if (is_skipped(device, graph, node)) mirror->scratch[node].resize(ggml_nbytes(node));
        if (!is_reachable(device, *mirror, node)) return nullptr;
        ggml_tensor * m = mirror->of(node);
        for (int j = 0; j < GGML_MAX_SRC; ++j) {
            if (node->src[j] == nullptr) continue;
            if (!is_reachable(device, *mirror, node->src[j])) return nullptr;
            m->src[j] = mirror->of(node->src[j]);
        }
        ggml_graph_add_node(mirror->graph, m);
    }
    return [mirror, reference = device.options.reference] {
        ggml_cplan plan = ggml_graph_plan(mirror->graph, 1, nullptr);
        std::vector<uint8_t> work(plan.work_size + 64);
        const auto unaligned = reinterpret_cast<uintptr_t>(work.data());
        plan.work_data = work.data() + (64 - unaligned % 64) % 64;
        plan.use_ref = reference;
        return ggml_graph_compute(mirror->graph, &plan) == GGML_STATUS_SUCCESS;
    };
}

} // namespace ggml::test
