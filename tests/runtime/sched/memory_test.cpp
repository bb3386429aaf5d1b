// Memory that runs out at every place while extensions are planned, run and looked into: an answer each time,
// nothing stays prepared, and the scheduler works afterwards.
#include "ggml-cpp.h"
#include "ggml-cpu.h"
#include "ggml-ext-tools.h"
#include "tests/runtime/ext/registry/failing_heap.h"

#include <functional>
#include <gtest/gtest.h>

namespace ggml::test {
namespace {

constexpr int kElements = 8;
int n_prepared = 0;

int match(ggml_backend_dev_t, const ggml_cgraph * graph, int first, ggml_ext_why_t why, void *) {
    const ggml_op ops[] = {GGML_OP_MUL, GGML_OP_ADD};
    const int n = ggml_ext_match_ops(graph, first, ops, 2, why);
    return n == 2 ? n : ggml_ext_refuse_match(why, n, "only %d nodes fit", n);
}

ggml_status prepare(const ggml_ext_prepare_params *, ggml_ext_prepared * prepared, void *) {
    prepared->workspace_bytes = 4096;
    ++n_prepared;
    return GGML_STATUS_SUCCESS;
}

void destroy(void *, void *) { --n_prepared; }

// a * b + c
ggml_status execute(const ggml_ext_execute_params * params, void *, void *) {
    const ggml_tensor *mul = params->step.nodes[0], *add = params->step.nodes[1];
    const auto at = [](const ggml_tensor * t, int i) -> float & { return static_cast<float *>(t->data)[i]; };
    for (int i = 0; i < kElements; ++i)
        at(add, i) = at(mul->src[0], i) * at(mul->src[1], i) + at(add->src[1], i);
    return GGML_STATUS_SUCCESS;
}

ggml_tensor * build(ggml_context * ctx, void *) {
    ggml_tensor * in[3];
    for (ggml_tensor *& t : in) ggml_set_input(t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, kElements));
    return ggml_add(ctx, ggml_mul(ctx, in[0], in[1]), in[2]);
}

struct sched_memory : testing::Test {
    static void SetUpTestSuite() {
        ggml_ext_kernel_desc rule = {};
        rule.struct_size = sizeof(rule);
        rule.name = "t.mul_add";
        rule.op = GGML_OP_MUL;
        rule.match = match;
        rule.prepare = prepare;
        rule.execute = execute;
        rule.destroy = destroy;
        ASSERT_EQ(ggml_ext_register_kernel(ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0), &rule),
                  GGML_EXT_SUCCESS);
    }

    void new_graph() {
        ggml_backend_sched_reset(sched.get());
        ctx.reset(ggml_init({1 << 20, nullptr, /*no_alloc=*/true}));
        result = build(ctx.get(), nullptr);
        graph = ggml_new_graph(ctx.get());
        ggml_build_forward_expand(graph, result);
    }

    void write_inputs() {
        for (ggml_tensor * t : {result->src[0]->src[0], result->src[0]->src[1], result->src[1]}) {
            for (int i = 0; i < kElements; ++i) ggml_set_f32_1d(t, i, 3);
        }
    }

    bool compute() {
        if (!ggml_backend_sched_alloc_graph(sched.get(), graph)) return false;
        write_inputs();
        return ggml_backend_sched_graph_compute(sched.get(), graph) == GGML_STATUS_SUCCESS;
    }

    // attempt() with 0, 1, 2 ... allocations until nothing is missing.
    void run_out(const std::function<void()> & before, const std::function<void()> & attempt) {
        bool ran_out = true;
        for (int n = 0; ran_out; ++n) {
            sched.reset(ggml_backend_sched_new(backends, nullptr, 1, 4, false, false));
            new_graph();
            before();
            {
                const HeapOf heap(n);
                attempt();
                ran_out = heap.ran_out();
            }
            new_graph();
            ASSERT_TRUE(compute()) << n << " allocations";
            EXPECT_EQ(ggml_get_f32_1d(result, 5), 12) << n << " allocations";
            sched.reset();
            EXPECT_EQ(n_prepared, 0) << n << " allocations";
            ASSERT_LT(n, 100000);
        }
    }

    ggml_backend_ptr cpu{ggml_backend_cpu_init()};
    ggml_backend_t backends[1] = {cpu.get()};
    ggml_backend_sched_ptr sched;
    ggml_context_ptr ctx;
    ggml_cgraph * graph = nullptr;
    ggml_tensor * result = nullptr;
};

TEST_F(sched_memory, may_run_out_anywhere_in_allocation_and_execution) {
    run_out([] {}, [this] { (void)compute(); });
}

TEST_F(sched_memory, may_run_out_anywhere_in_a_dry_run) {
    for (const ggml_ext_format format : {GGML_EXT_FORMAT_TEXT, GGML_EXT_FORMAT_JSON})
        run_out([] {}, [&] { ggml_ext_text_free(ggml_ext_explain(sched.get(), graph, format)); });
}

TEST_F(sched_memory, may_run_out_anywhere_in_a_comparison_with_the_reference) {
    run_out([this] { ASSERT_TRUE(compute()); },
            [this] {
                const ggml_ext_tolerance tolerance = {1e-6, 1e-6, 1e-6};
                ggml_ext_parity_result * found = nullptr;
                (void)ggml_ext_parity(sched.get(), graph, &tolerance, /*bisect=*/true, &found);
                ggml_ext_parity_free(found);
            });
}

} // namespace
} // namespace ggml::test
