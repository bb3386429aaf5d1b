// Work that falls to a slower backend, and why.
#include "runtime/sched/sched.h"

#include "runtime/backend/interface.h"
#include "runtime/base/log.h"

#include <algorithm>

namespace ggml::sched {
namespace {

const ext::DeviceKernels * kernels_at(const Scheduler & s, int backend) {
    return ext::kernels_of(s.backends[size_t(backend)]->device);
}

bool has_kernels(const Scheduler & s, int backend, const ggml_tensor * node) {
    const ext::DeviceKernels * kernels = kernels_at(s, backend);
    return kernels != nullptr && !kernels->for_node(node).empty();
}

// Of the nearest node in this direction that runs code.
int neighbour(const Scheduler & s, const ggml_cgraph * graph, int node, int direction) {
    for (int i = node + direction; i >= 0 && i < graph->n_nodes; i += direction) {
        if (!op_is_metadata_only(graph->nodes[i]->op)) return s.tensors[s.index.nodes[size_t(i)]].backend;
    }
    return kNoBackend;
}

bool is_next_to(const Scheduler & s, const ggml_cgraph * graph, int node, int backend) {
    if (neighbour(s, graph, node, -1) == backend || neighbour(s, graph, node, 1) == backend) return true;
    const auto sources = s.index.sources(node);
    return std::any_of(sources.begin(), sources.end(),
                       [&](const Edge & e) { return s.tensors[e.slot].backend == backend; });
}

} // namespace

std::vector<ext::Candidate> refusals(const Scheduler & s, int backend, const ggml_tensor * node) {
    std::vector<ext::Candidate> refused;
    ggml_backend_dev_t device = s.backends[size_t(backend)]->device;
    const ext::DeviceKernels * kernels = kernels_at(s, backend);
    if (kernels != nullptr && ext::choose(device, *kernels, node, s.policy, &refused) != nullptr) return {};
    if (ggml_ext_dev_supports_native_op(device, node)) return {};
    ext::Candidate & native = refused.emplace_back(ext::Candidate{nullptr, {}});
    ext::refuse(&native.verdict, GGML_EXT_REASON_NO_NATIVE, -1, "%s itself does not run %s",
                ggml_backend_name(s.backends[size_t(backend)]), ggml_op_desc(node));
    return refused;
}

bool find_fallback(const Scheduler & s, const ggml_cgraph * graph, int node, Fallback & out) {
    const ggml_tensor * t = graph->nodes[node];
    if (extension_op(t) == nullptr) return false;
    const int backend = s.tensors[s.index.nodes[size_t(node)]].backend;
    for (int b = 0; b < backend; ++b) {
        if (!has_kernels(s, b, t) || !is_next_to(s, graph, node, b)) continue;
        std::vector<ext::Candidate> refused = refusals(s, b, t);
        if (refused.empty()) continue; // it would: the caller or the data wants it elsewhere
        out = {b, std::move(refused.front())};
        return true;
    }
    return false;
}

void report_fallbacks(Scheduler & s, const ggml_cgraph * graph) {
    Fallback fallback;
    for (int i = 0; i < graph->n_nodes; ++i) {
        const ggml_tensor * node = graph->nodes[i];
        if (node->op != GGML_OP_CUSTOM || !find_fallback(s, graph, i, fallback)) continue;
        const ext::Verdict & why = fallback.first.verdict;
        const std::pair<const void *, ggml_ext_reason> told{extension_op(node), why.reason};
        if (std::find(s.told.begin(), s.told.end(), told) != s.told.end()) continue;
        s.told.push_back(told);
        const int backend = s.tensors[s.index.nodes[size_t(i)]].backend;
        GGML_LOG_WARN("scheduler: %s ('%s') runs on %s and not on %s, where %s refuses: %s\n",
                      ggml_op_desc(node), node->name, ggml_backend_name(s.backends[size_t(backend)]),
                      ggml_backend_name(s.backends[size_t(fallback.wanted)]),
                      fallback.first.kernel->name.c_str(), why.message().c_str());
    }
}

} // namespace ggml::sched
