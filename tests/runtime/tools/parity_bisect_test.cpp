// The first step that matters, and what the caller keeps.
#include "tests/runtime/tools/parity_fixture.h"

#include <cstring>

namespace ggml::test {
namespace {

TEST(parity_bisect, names_the_first_that_matters_behind_a_harmless_difference) {
    ExtMachine m;
    add_kernel(m.device(), square("t.square", 1e-5f));
    add_kernel(m.device(), sum("t.sum"));
    add_kernel(m.device(), root("t.root", 0.25f));
    RootOfSum graph(m);
    const ParityResult result = parity(m.sched(), graph.graph);
    ASSERT_EQ(result->n_steps, 3u);
    EXPECT_GT(result->steps[0].difference.max_abs, 0);
    EXPECT_TRUE(result->steps[0].good);
    EXPECT_FALSE(result->steps[2].good);
    EXPECT_EQ(result->first_that_matters, 2);
}

TEST(parity_bisect, finds_each_step_of_a_long_chain) {
    constexpr int kSteps = 9;
    for (int wrong = 0; wrong < kSteps; ++wrong) {
        ExtMachine m;
        KernelKit kit = sum("t.sum");
        kit.execute = [wrong](const ggml_ext_execute_params & params, void *) {
            const ggml_tensor * node = params.step.nodes[0];
            const bool is_wrong = node->name[0] == char('a' + wrong);
            return queue_floats(params, {node->src[0], node->src[1]},
                                [is_wrong](float * out, const std::vector<const float *> & in, int64_t n) {
                                    for (int64_t i = 0; i < n; ++i) out[i] = in[0][i] + in[1][i] + is_wrong;
                                });
        };
        add_kernel(m.device(), kit);
        ggml_tensor * t = m.weight(1);
        for (int i = 0; i < kSteps; ++i) {
            t = ggml_add(m.ctx.get(), t, m.weight(1));
            const char name[] = {char('a' + i), 0};
            ggml_set_name(t, name);
        }
        ggml_cgraph * g = m.graph({t});
        ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
        EXPECT_EQ(parity(m.sched(), g)->first_that_matters, wrong);
    }
}

TEST(parity_bisect, passes_over_a_wrong_step_that_no_result_shows) {
    ExtMachine m;
    add_kernel(m.device(), square("t.square", 1));
    Weight zero(m.backend(), kElements, 1, std::vector<float>(size_t(kElements), 0));
    ggml_tensor * hidden = ggml_mul(m.ctx.get(), ggml_sqr(m.ctx.get(), m.weight(1)), zero.tensor);
    ggml_cgraph * g = m.graph({hidden});
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    const ParityResult result = parity(m.sched(), g);
    EXPECT_FALSE(result->steps[0].good);
    EXPECT_EQ(result->first_that_matters, -1);
}

TEST(parity_bisect, is_left_out_unless_asked_for) {
    ExtMachine m;
    std::shared_ptr<Calls> calls = std::make_shared<Calls>();
    add_kernel(m.device(), counted("t.sum", GGML_OP_ADD, calls));
    ggml_cgraph * g = m.graph({ggml_add(m.ctx.get(), m.weight(1), m.weight(2))});
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    const ParityResult result = parity(m.sched(), g, /*bisect=*/false);
    EXPECT_FALSE(result->steps[0].good);
    EXPECT_EQ(result->first_that_matters, -1);
    EXPECT_EQ(calls->executes, 1);
    EXPECT_EQ(calls->prepares, 1);
}

TEST(parity_bisect, counts_steps_over_all_devices) {
    Machine machine({device_without("A", GGML_OP_SQRT), device_without("B", GGML_OP_ADD)});
    ggml_backend_dev_t a = machine.devices[0]->device(), b = machine.devices[1]->device();
    add_kernel(a, sum("t.sum"));
    add_kernel(b, root("t.root", 0.5f));
    const ggml_context_ptr ctx = make_context();
    Weight x(machine.backend(0), 8, 1, counting(8, 1)), y(machine.backend(0), 8, 1, counting(8, 3));
    ggml_tensor * added = ggml_add(ctx.get(), x.tensor, y.tensor); // A
    ggml_tensor * rooted = ggml_sqrt(ctx.get(), added);            // B
    ggml_tensor * squared = ggml_sqr(ctx.get(), rooted);           // without a kernel
    ggml_tensor * result = ggml_add(ctx.get(), squared, x.tensor); // A
    ggml_cgraph * g = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(g, result);
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(machine.sched.get(), g));
    const std::vector<ggml_tensor *> sources(result->src, result->src + 2);
    const ParityResult found = parity(machine.sched.get(), g);
    ASSERT_EQ(found->n_steps, 3u);
    EXPECT_STREQ(found->steps[0].kernel, "t.sum");
    EXPECT_TRUE(found->steps[0].good);
    EXPECT_STREQ(found->steps[1].kernel, "t.root");
    EXPECT_FALSE(found->steps[1].good);
    EXPECT_TRUE(found->steps[2].good);
    EXPECT_EQ(found->first_that_matters, 1);
    EXPECT_EQ(machine.failures(), 0);
    EXPECT_TRUE(std::equal(sources.begin(), sources.end(), result->src)) << "the caller's graph is as it was";
}

TEST(parity_bisect, keeps_nodes_where_the_caller_put_them) {
    Machine machine({device_options("A"), device_options("B")});
    add_kernel(machine.devices[1]->device(), sum("t.sum", 1)); // A, which would be first, has none
    const ggml_context_ptr ctx = make_context();
    Weight x(machine.backend(0), 8, 1, counting(8, 1)), y(machine.backend(0), 8, 1, counting(8, 3));
    ggml_tensor * added = ggml_add(ctx.get(), x.tensor, y.tensor);
    ggml_cgraph * g = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(g, added);
    ggml_backend_sched_set_tensor_backend(machine.sched.get(), added, machine.backend(1));
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(machine.sched.get(), g));
    const ParityResult found = parity(machine.sched.get(), g);
    ASSERT_EQ(found->n_steps, 1u);
    EXPECT_EQ(found->first_that_matters, 0);
}

TEST(parity_bisect, leaves_the_results_and_the_allocation_of_the_caller) {
    ExtMachine m;
    add_kernel(m.device(), sum("t.sum", 0.5f));
    ggml_tensor * input = ggml_new_tensor_1d(m.ctx.get(), GGML_TYPE_F32, kElements);
    ggml_set_input(input);
    ggml_tensor * added = ggml_add(m.ctx.get(), ggml_sqr(m.ctx.get(), input), m.weight(2));
    ggml_tensor * result = ggml_scale(m.ctx.get(), added, 2);
    ggml_cgraph * g = m.graph({result});
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    void * const place = result->data;
    write(input, counting(kElements, 1));
    EXPECT_EQ(parity(m.sched(), g)->first_that_matters, 0);
    EXPECT_EQ(result->data, place);
    EXPECT_EQ(read(result)[3], 2 * (4 * 4 + 5 + 0.5f)) << "with all extensions";
    write(input, counting(kElements, 2));
    EXPECT_EQ(m.compute(g, result)[3], 2 * (5 * 5 + 5 + 0.5f)) << "and it runs on";
}

TEST(parity_bisect, can_be_repeated) {
    ExtMachine m;
    add_kernel(m.device(), sum("t.sum", 0.5f));
    RootOfSum graph(m);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(parity(m.sched(), graph.graph)->first_that_matters, 0);
    EXPECT_EQ(m.machine.failures(), 0);
}

TEST(parity_bisect, steps_that_nobody_else_runs_stay) {
    ExtMachine m;
    OpKit op;
    op.name = "parity.only.v1";
    KernelKit only = kernel("t.only", GGML_OP_CUSTOM, [](const std::vector<float> & v) { return v[0] + 1; });
    only.custom_op = add_op(op);
    add_kernel(m.device(), only);
    add_kernel(m.device(), square("t.square", 1));
    ggml_tensor * input = m.weight(1);
    ggml_tensor * t = ggml_ext_op_create(m.ctx.get(), only.custom_op, &input, 1, nullptr, 0);
    t = ggml_sqr(m.ctx.get(), t);
    t = ggml_ext_op_create(m.ctx.get(), only.custom_op, &t, 1, nullptr, 0);
    ggml_cgraph * g = m.graph({t});
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    const ParityResult result = parity(m.sched(), g);
    ASSERT_EQ(result->n_steps, 3u);
    EXPECT_EQ(result->first_that_matters, 1);
    EXPECT_EQ(m.machine.failures(), 0);
}

TEST(parity_bisect, respects_what_the_policy_disables) {
    ExtMachine m;
    add_kernel(m.device(), square("t.square", 1));
    add_kernel(m.device(), sum("t.sum", 1));
    const char * disabled[] = {"t.square"};
    ggml_ext_policy policy = ggml_ext_policy_default();
    policy.disabled = disabled;
    policy.n_disabled = 1;
    ASSERT_EQ(ggml_ext_sched_set_policy(m.sched(), &policy), GGML_EXT_SUCCESS);
    RootOfSum graph(m);
    const ParityResult result = parity(m.sched(), graph.graph);
    ASSERT_EQ(result->n_steps, 1u);
    EXPECT_STREQ(result->steps[0].kernel, "t.sum");
    EXPECT_EQ(result->first_that_matters, 0);
}

TEST(parity_bisect, says_that_results_differ_by_themselves) {
    ExtMachine m;
    OpKit op;
    op.name = "parity.moody.v1";
    auto executions = std::make_shared<int>(0);
    KernelKit kit;
    kit.name = "t.moody";
    kit.op = GGML_OP_CUSTOM;
    kit.custom_op = add_op(op);
    kit.supports = [](const ggml_tensor *, ggml_ext_why_t) { return true; };
    kit.execute = [executions](const ggml_ext_execute_params & params, void *) {
        return queue_floats(params, {}, [value = ++*executions](float * out, const auto &, int64_t n) {
            for (int64_t i = 0; i < n; ++i) out[i] = float(value);
        });
    };
    add_kernel(m.device(), kit);
    ggml_tensor * input = m.weight(1);
    ggml_cgraph * g = m.graph({ggml_ext_op_create(m.ctx.get(), kit.custom_op, &input, 1, nullptr, 0)});
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    ggml_ext_parity_result * result = nullptr;
    EXPECT_EQ(ggml_ext_parity(m.sched(), g, &kTolerance, true, &result), GGML_EXT_FAILED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_PARITY_UNSTABLE);
    EXPECT_EQ(result, nullptr);
}

TEST(parity_bisect, says_that_a_second_plan_differs) {
    ExtMachine m;
    auto asked = std::make_shared<int>(0);
    KernelKit kit = square("t.square", 1);
    kit.preferred = [asked](const ggml_tensor *) { return (*asked)++ == 0; };
    add_kernel(m.device(), kit);
    ggml_cgraph * g = m.graph({ggml_sqr(m.ctx.get(), m.weight(1))});
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    ggml_ext_parity_result * result = nullptr;
    EXPECT_EQ(ggml_ext_parity(m.sched(), g, &kTolerance, true, &result), GGML_EXT_FAILED);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_PARITY_OTHER_PLAN);
}

TEST(parity_bisect, works_where_graphs_overlap_in_time) {
    ExtMachine m(device_options("DEV"), /*parallel=*/true);
    std::shared_ptr<Calls> calls = std::make_shared<Calls>();
    add_kernel(m.device(), mul_add("t.mul_add", calls)); // never fires here
    add_kernel(m.device(), sum("t.sum", 1));
    ggml_tensor * input = ggml_new_tensor_1d(m.ctx.get(), GGML_TYPE_F32, kElements);
    ggml_set_input(input);
    ggml_tensor * result = ggml_add(m.ctx.get(), ggml_mul(m.ctx.get(), input, m.weight(1)), m.weight(2));
    ggml_set_output(result);
    ggml_cgraph * g = m.graph({result});
    ASSERT_TRUE(ggml_backend_sched_alloc_graph(m.sched(), g));
    write(input, counting(kElements, 1));
    const ParityResult found = parity(m.sched(), g);
    ASSERT_EQ(found->n_steps, 1u);
    EXPECT_STREQ(found->steps[0].kernel, "t.sum");
    EXPECT_EQ(found->first_that_matters, 0);
    EXPECT_EQ(read(result)[1], 2 * 2 + 3 + 1);
}

} // namespace
} // namespace ggml::test
