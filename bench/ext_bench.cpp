// What the extension layer costs where it has nothing to do: planning and running 2,000 operators on one
// element each, on a device without registrations and on one with 30 fusion rules of which none ever matches.
#include "bench/support/measure.h"
#include "ggml-backend.h"
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "ggml-ext.h"
#include "runtime/backend/interface.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr int kNodes = 2000;
constexpr int kRules = 30;
constexpr int kRounds = 101;
constexpr int kRuns = 8; // of each graph after it was planned

void require(bool ok, const char * what) {
    if (ok) return;
    std::fprintf(stderr, "ext_bench: %s\n", what);
    std::exit(1);
}

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

// Its first operator is everywhere in the graph, its second nowhere: the longest way to a no.
int match(ggml_backend_dev_t, const ggml_cgraph * graph, int first, ggml_ext_why_t why, void *) {
    constexpr ggml_op kOps[] = {GGML_OP_SCALE, GGML_OP_MUL_MAT};
    return ggml_ext_match_ops(graph, first, kOps, 2, why) == 2 ? 2 : 0;
}

ggml_status execute(const ggml_ext_execute_params *, void *, void *) { return GGML_STATUS_FAILED; }

void register_rules(ggml_backend_dev_t device) {
    for (int i = 0; i < kRules; ++i) {
        const std::string name = "bench.rule" + std::to_string(i);
        ggml_ext_kernel_desc rule = {};
        rule.struct_size = sizeof(rule);
        rule.name = name.c_str();
        rule.op = i % 3 == 0 ? GGML_OP_NONE : GGML_OP_SCALE; // every third is asked about all nodes
        rule.match = match;
        rule.execute = execute;
        require(ggml_ext_register_kernel(device, &rule) == GGML_EXT_SUCCESS, ggml_ext_last_message());
    }
}

// The CPU as a device of its own, so that one process has it with and without registrations.
class Candidate {
  public:
    explicit Candidate(bool with_rules) : cpu_(ggml_backend_cpu_init()) {
        require(cpu_ != nullptr, "no CPU backend");
        device_ = *ggml_backend_get_device(cpu_.get());
        device_.extensions = nullptr;
        device_.extensions_frozen = 0;
        cpu_->device = &device_;
        ggml_backend_cpu_set_n_threads(cpu_.get(), 2);
        if (with_rules) register_rules(&device_);
        ggml_backend_t backend = cpu_.get();
        sched_.reset(ggml_backend_sched_new(&backend, nullptr, 1, 2 * kNodes, false, false));
        require(sched_ != nullptr, "no scheduler");
    }

    void plan() {
        constexpr size_t kGraph = 2 * kNodes;
        const size_t arena = kGraph * ggml_tensor_overhead() + ggml_graph_overhead_custom(kGraph, false);
        ggml_backend_sched_reset(sched_.get());
        ctx_.reset(ggml_init({arena, nullptr, true}));
        graph_ = build(ctx_.get());
        planned_.add(bench::seconds([&] {
            require(ggml_backend_sched_alloc_graph(sched_.get(), graph_), "the graph was not allocated");
        }));
    }

    void run(bool directly_first) {
        // What the scheduler would call if there were no extensions.
        const auto directly = [&] { (void)cpu_->iface.graph_compute(cpu_.get(), graph_); };
        const auto scheduled = [&] { (void)ggml_backend_sched_graph_compute(sched_.get(), graph_); };
        directly(); // the caches hold the other candidate's graph
        if (directly_first) direct_.add(bench::seconds(directly));
        scheduled_.add(bench::seconds(scheduled));
        if (!directly_first) direct_.add(bench::seconds(directly));
    }

    double plan_ms() const { return 1e3 * planned_.median(); }
    double scheduled_ms() const { return 1e3 * scheduled_.median(); }
    double direct_ms() const { return 1e3 * direct_.median(); }

  private:
    ggml_backend_device device_ = {};
    ggml_backend_ptr cpu_;
    ggml_backend_sched_ptr sched_;
    ggml_context_ptr ctx_;
    ggml_cgraph * graph_ = nullptr;
    bench::Samples planned_, scheduled_, direct_;
};

void print(const char * name, const Candidate & c) {
    std::printf("%-20s planning %.3f ms, execution %.3f ms, by the backend alone %.3f ms\n", name,
                c.plan_ms(), c.scheduled_ms(), c.direct_ms());
}

} // namespace

int main() {
    Candidate without(false), with(true);
    for (int round = 0; round < kRounds; ++round) {
        without.plan();
        with.plan();
        for (int run = 0; run < kRuns; ++run) {
            without.run(run % 2 == 0);
            with.run(run % 2 == 0);
        }
    }
    std::printf("%d nodes\n", kNodes);
    print("nothing registered", without);
    print("30 rules", with);
    std::printf("ratio ext_idle_execution %.3f (aim 0.98)\n", without.direct_ms() / without.scheduled_ms());
    std::printf("ratio ext_rules_execution %.3f (aim 0.98)\n", without.scheduled_ms() / with.scheduled_ms());
    std::printf("ratio ext_rules_planning_ms %.3f (aim < 1)\n", with.plan_ms() - without.plan_ms());
    return 0;
}
