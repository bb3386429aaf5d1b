// The same graph on two backends, node by node or only at chosen nodes.
#include "runtime/backend/interface.h"
#include "runtime/base/log.h"
#include "runtime/graph/graph.h"

#include "ggml-graph.h"

#include <algorithm>
#include <span>

namespace ggml {
namespace {

struct Comparison {
    ggml_backend_t backend1, backend2;
    ggml_cgraph *graph1, *graph2;
    ggml_backend_eval_callback callback;
    void * user_data;

    bool report(int i) const { return callback(i, graph1->nodes[i], graph2->nodes[i], user_data); }

    bool compute(int first, int n) const {
        return ggml_backend_graph_compute_range(backend1, graph1, first, n) == GGML_STATUS_SUCCESS &&
               ggml_backend_graph_compute_range(backend2, graph2, first, n) == GGML_STATUS_SUCCESS;
    }
};

bool compare_every_node(const Comparison & c) {
    for (int i = 0; i < c.graph1->n_nodes; ++i) {
        if (!c.compute(i, 1)) return false;
        // Views show bytes that were reported with the node that wrote them.
        if (op_is_metadata_only(c.graph1->nodes[i]->op)) continue;
        if (!c.report(i)) break;
    }
    return true;
}

bool compare_chosen_nodes(const Comparison & c, std::span<const ggml_tensor * const> chosen) {
    if (!c.compute(0, c.graph1->n_nodes)) return false;
    bool any = false;
    for (int i = 0; i < c.graph1->n_nodes; ++i) {
        if (std::find(chosen.begin(), chosen.end(), c.graph1->nodes[i]) == chosen.end()) continue;
        any = true;
        if (!c.report(i)) break;
    }
    if (!any) GGML_LOG_ERROR("ggml_backend_compare_graph_backend: none of the test nodes is in the graph\n");
    return any;
}

} // namespace
} // namespace ggml

extern "C" bool ggml_backend_compare_graph_backend(ggml_backend_t backend1, ggml_backend_t backend2,
                                                   ggml_cgraph * graph, ggml_backend_eval_callback callback,
                                                   void * user_data, ggml_tensor const * const * test_nodes,
                                                   size_t num_test_nodes) {
    GGML_ASSERT(backend1 != nullptr && backend2 != nullptr && graph != nullptr && callback != nullptr);
    GGML_ASSERT(num_test_nodes == 0 || test_nodes != nullptr);
    struct ggml_backend_graph_copy copy = ggml_backend_graph_copy(backend2, graph);
    if (copy.graph == nullptr) return false;
    const ggml::Comparison comparison = {backend1, backend2, graph, copy.graph, callback, user_data};
    const bool ok = num_test_nodes != 0 ? ggml::compare_chosen_nodes(comparison, {test_nodes, num_test_nodes})
                                        : ggml::compare_every_node(comparison);
    ggml_backend_graph_copy_free(copy);
    return ok;
}
