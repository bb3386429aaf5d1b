// What planning costs: a graph of 2,000 operators on one element each, so that scheduler, allocator and
// dispatch are nearly all there is. Prints microseconds per node for a rebuilt and for an unchanged graph.
#include "bench/support/measure.h"
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "ggml-sched.h"
#include "ggml.h"

#include <cstdio>

namespace {

constexpr int kNodes = 2000;

// A chain with a side branch every fourth node, so that lifetimes overlap as in a network.
ggml_cgraph * build(ggml_context * ctx) {
    ggml_tensor * x = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    ggml_set_input(x);
    ggml_cgraph * graph = ggml_new_graph_custom(ctx, 2 * kNodes, false);
    ggml_tensor *a = x, *side = x;
    for (int i = 0; i < kNodes; ++i) {
        a = i % 4 == 3 ? ggml_add(ctx, a, side) : ggml_scale(ctx, a, 0.5f);
        if (i % 4 == 0) side = a;
    }
    ggml_set_output(a);
    ggml_build_forward_expand(graph, a);
    return graph;
}

} // namespace

int main() {
    ggml_backend_ptr cpu(ggml_backend_cpu_init());
    ggml_backend_t backends[] = {cpu.get()};
    ggml_backend_cpu_set_n_threads(cpu.get(), 2);
    ggml_backend_sched_ptr sched(ggml_backend_sched_new(backends, nullptr, 1, 2 * kNodes, false, false));
    const size_t arena =
        (2 * kNodes) * ggml_tensor_overhead() + ggml_graph_overhead_custom(2 * kNodes, false);

    bench::Samples rebuilt, computed, kernels;
    for (int i = 0; i < 60; ++i) {
        ggml_context_ptr ctx(ggml_init({arena, nullptr, true}));
        ggml_cgraph * graph = build(ctx.get());
        rebuilt.add(bench::seconds([&] {
            ggml_backend_sched_reset(sched.get());
            if (!ggml_backend_sched_alloc_graph(sched.get(), graph)) std::abort();
            ggml_backend_sched_graph_compute(sched.get(), graph);
        }));
        computed.add(bench::seconds([&] { ggml_backend_sched_graph_compute(sched.get(), graph); }));
        kernels.add(bench::seconds([&] { ggml_backend_graph_compute(cpu.get(), graph); }));
    }
    const double per_node = 1e6 / kNodes;
    std::printf(
        "%d nodes: kernels and dispatch alone %.3f us/node, scheduled %.3f, allocated and scheduled %.3f\n",
        kNodes, kernels.median() * per_node, computed.median() * per_node, rebuilt.median() * per_node);
    std::printf("ratio sched_us_per_node %.3f (aim < 2)\n", (rebuilt.median() - kernels.median()) * per_node);
    std::printf("ratio sched_total_us_per_node %.3f (aim < 2)\n", rebuilt.median() * per_node);
    return 0;
}
