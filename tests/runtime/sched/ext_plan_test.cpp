// Kernels of single nodes in scheduled graphs: preparation, workspace, reuse, failures.
#include "tests/runtime/sched/ext_fixture.h"

#include "runtime/ext/registry/registry.h"
#include "tests/support/log_capture.h"

#include "ggml-graph.h"

namespace ggml::test {
namespace {

struct ext_plan : testing::Test {
    std::shared_ptr<Calls> calls = std::make_shared<Calls>();
};

TEST_F(ext_plan, a_registered_kernel_replaces_the_devices_own) {
    ExtMachine m;
    add_kernel(m.device(), counted("t.add", GGML_OP_ADD, calls));
    ggml_tensor * sum = ggml_add(m.ctx.get(), m.weight(0), m.weight(5));
    EXPECT_EQ(m.compute(m.graph({sum}), sum)[3], 3 + 8 + 1000);
    EXPECT_EQ(calls->executes, 1);
}

TEST_F(ext_plan, the_scheduler_gives_nodes_to_a_device_that_only_an_extension_makes_able) {
    ExtMachine m(device_without("DEV", GGML_OP_ADD));
    add_kernel(m.device(), counted("t.add", GGML_OP_ADD, calls));
    ggml_tensor * sum = ggml_add(m.ctx.get(), m.weight(0), m.weight(5));
    EXPECT_EQ(m.compute(m.graph({sum}), sum)[3], 1011);
    EXPECT_EQ(ggml_backend_sched_get_tensor_backend(m.sched(), sum), m.backend());
}

TEST_F(ext_plan, prepared_state_serves_all_executions_of_an_allocated_graph) {
    ExtMachine m;
    add_kernel(m.device(), counted("t.add", GGML_OP_ADD, calls));
    ggml_tensor * sum = ggml_add(m.ctx.get(), m.weight(0), m.weight(5));
    ggml_cgraph * g = m.graph({sum});
    for (int i = 0; i < 3; ++i) m.compute(g, sum);
    EXPECT_EQ(calls->prepares, 1);
    EXPECT_EQ(calls->executes, 3);
    EXPECT_EQ(calls->destroys, 0);
    ggml_backend_sched_reset(m.sched());
    EXPECT_EQ(calls->destroys, 1);
}

TEST_F(ext_plan, states_are_destroyed_in_reverse_order) {
    ExtMachine m;
    add_kernel(m.device(), counted("t.add", GGML_OP_ADD, calls));
    ggml_tensor * x = m.weight(0);
    for (int i = 0; i < 4; ++i) x = ggml_add(m.ctx.get(), x, m.weight(1));
    m.compute(m.graph({x}), x);
    ggml_backend_sched_reset(m.sched());
    EXPECT_EQ(calls->destroyed, (std::vector<int>{3, 2, 1, 0}));
}

TEST_F(ext_plan, preparation_comes_before_storage_and_also_when_only_measuring) {
    ExtMachine m;
    KernelKit kit = counted("t.add", GGML_OP_ADD, calls);
    int without_storage = 0;
    const auto prepare = kit.prepare;
    kit.prepare = [&](const ggml_ext_prepare_params & params, ggml_ext_prepared & prepared) {
        without_storage += params.step.nodes[0]->data == nullptr;
        EXPECT_EQ(params.struct_size, sizeof(params));
        return prepare(params, prepared);
    };
    add_kernel(m.device(), kit);
    ggml_tensor * sum = ggml_add(m.ctx.get(), m.weight(0), m.weight(5));
    ggml_cgraph * g = m.graph({sum});
    size_t sizes[2];
    ggml_backend_sched_reserve_size(m.sched(), g, sizes);
    EXPECT_EQ(without_storage, 1);
    EXPECT_EQ(calls->destroys, 1) << "what was measured is given back";
    m.compute(g, sum);
    EXPECT_EQ(without_storage, 2);
}

TEST_F(ext_plan, workspace_is_the_largest_request_and_is_reported_as_it_was_estimated) {
    const auto bytes_with = [this](size_t small, size_t large, size_t * estimated) {
        ExtMachine m;
        add_kernel(m.device(), counted("t.add", GGML_OP_ADD, calls, small));
        add_kernel(m.device(), counted("t.mul", GGML_OP_MUL, calls, large));
        ggml_tensor * x = ggml_add(m.ctx.get(), ggml_mul(m.ctx.get(), m.weight(0), m.weight(5)), m.weight(1));
        ggml_cgraph * g = m.graph({x});
        size_t sizes[2];
        ggml_backend_sched_reserve_size(m.sched(), g, sizes);
        *estimated = sizes[0];
        m.compute(g, x);
        return ggml_backend_sched_get_buffer_size(m.sched(), m.backend());
    };
    size_t none = 0, some = 0;
    const size_t base = bytes_with(0, 0, &none), with = bytes_with(1 << 12, 3 << 12, &some);
    EXPECT_EQ(base, none);
    EXPECT_EQ(with, some);
    EXPECT_GE(with - base, size_t(3 << 12));
    EXPECT_LT(with - base, size_t(4 << 12));
}

TEST_F(ext_plan, execute_receives_the_workspace_and_addresses) {
    ExtMachine m;
    KernelKit kit = counted("t.add", GGML_OP_ADD, calls, 5000);
    const auto execute = kit.execute;
    kit.execute = [&](const ggml_ext_execute_params & params, void * state) {
        EXPECT_EQ(params.backend, m.backend());
        EXPECT_EQ(params.workspace_bytes, 5000u);
        EXPECT_GE(ggml_backend_buffer_get_size(params.workspace), 5000u);
        EXPECT_EQ(params.workspace_base, ggml_backend_buffer_get_base(params.workspace));
        EXPECT_NE(params.step.nodes[0]->data, nullptr);
        return execute(params, state);
    };
    add_kernel(m.device(), kit);
    ggml_tensor * sum = ggml_add(m.ctx.get(), m.weight(0), m.weight(5));
    m.compute(m.graph({sum}), sum);
    EXPECT_EQ(calls->executes, 1);
}

TEST_F(ext_plan, a_failed_preparation_ends_allocation_and_leaves_nothing_prepared) {
    ExtMachine m;
    add_kernel(m.device(), counted("t.add", GGML_OP_ADD, calls));
    KernelKit bad = counted("t.mul", GGML_OP_MUL, calls);
    bad.prepare = [](const ggml_ext_prepare_params &, ggml_ext_prepared &) { return GGML_STATUS_FAILED; };
    add_kernel(m.device(), bad);
    ggml_tensor * x = ggml_mul(m.ctx.get(), ggml_add(m.ctx.get(), m.weight(0), m.weight(5)), m.weight(1));
    LogCapture log;
    EXPECT_FALSE(ggml_backend_sched_alloc_graph(m.sched(), m.graph({x})));
    EXPECT_EQ(calls->prepares, 1);
    EXPECT_EQ(calls->destroys, 1);
    EXPECT_NE(log.text.find("t.mul"), std::string::npos) << log.text;
    EXPECT_NE(log.text.find("plan.prepare_failed"), std::string::npos) << log.text;
}

TEST_F(ext_plan, an_absurd_workspace_is_refused_with_the_kernels_name) {
    for (const size_t bytes : {SIZE_MAX, SIZE_MAX / 2, size_t(1) << 50}) {
        ExtMachine m;
        add_kernel(m.device(), counted("t.add", GGML_OP_ADD, calls, bytes));
        ggml_tensor * sum = ggml_add(m.ctx.get(), m.weight(0), m.weight(5));
        LogCapture log;
        EXPECT_FALSE(ggml_backend_sched_alloc_graph(m.sched(), m.graph({sum})));
        EXPECT_NE(log.text.find("workspace."), std::string::npos) << log.text;
        EXPECT_EQ(calls->prepares, calls->destroys);
    }
}

TEST_F(ext_plan, a_failed_kernel_is_the_graphs_failure_and_nothing_is_retried) {
    ExtMachine m;
    KernelKit bad = counted("t.add", GGML_OP_ADD, calls);
    bad.execute = [this](const ggml_ext_execute_params &, void *) {
        return ++calls->executes, GGML_STATUS_FAILED;
    };
    add_kernel(m.device(), bad);
    ggml_tensor * sum = ggml_add(m.ctx.get(), m.weight(0), m.weight(5));
    ggml_cgraph * g = m.graph({sum});
    LogCapture log;
    EXPECT_EQ(ggml_backend_sched_graph_compute(m.sched(), g), GGML_STATUS_FAILED);
    EXPECT_EQ(calls->executes, 1);
    EXPECT_EQ(m.machine.devices[0]->counters.graphs, 0) << "the device must not have been tried instead";
    EXPECT_NE(log.text.find("t.add"), std::string::npos) << log.text;
}

TEST_F(ext_plan, a_graph_changed_after_allocation_is_planned_again) {
    ExtMachine m;
    add_kernel(m.device(), counted("t.add", GGML_OP_ADD, calls));
    ggml_tensor *a = m.weight(0), *b = m.weight(5), *c = m.weight(50);
    ggml_tensor * sum = ggml_add(m.ctx.get(), a, b);
    ggml_cgraph * g = m.graph({sum});
    EXPECT_EQ(m.compute(g, sum)[0], 1005);
    sum->src[1] = c;
    EXPECT_EQ(m.compute(g, sum)[0], 1050);
    EXPECT_EQ(calls->prepares, 2);
    EXPECT_EQ(calls->destroys, 1);
}

TEST_F(ext_plan, a_workspace_that_found_no_memory_when_planned_again_is_a_status_until_it_does) {
    TestDeviceOptions options = device_options("DEV");
    options.memory = size_t(1) << 20;
    ExtMachine m(options);
    KernelKit kit = counted("t.add", GGML_OP_ADD, calls);
    size_t wanted = 1024;
    kit.prepare = [&](const ggml_ext_prepare_params &, ggml_ext_prepared & prepared) {
        prepared.state = new int(calls->prepares++);
        prepared.workspace_bytes = wanted;
        return GGML_STATUS_SUCCESS;
    };
    add_kernel(m.device(), kit);
    ggml_tensor *a = m.weight(0), *b = m.weight(5), *c = m.weight(50);
    ggml_tensor * sum = ggml_add(m.ctx.get(), a, b);
    ggml_cgraph * g = m.graph({sum});
    EXPECT_EQ(m.compute(g, sum)[0], 1005);
    wanted = size_t(1) << 22; // more than the device has
    sum->src[1] = c;
    LogCapture log;
    for (int i = 0; i < 2; ++i)
        EXPECT_NE(ggml_backend_sched_graph_compute(m.sched(), g), GGML_STATUS_SUCCESS);
    EXPECT_NE(log.text.find("workspace.no_memory"), std::string::npos) << log.text;
    wanted = 2048;
    sum->src[1] = b;
    EXPECT_EQ(m.compute(g, sum)[0], 1005);
}

TEST_F(ext_plan, several_pipeline_copies_run_single_kernels) {
    ExtMachine m(device_options("DEV"), /*parallel=*/true);
    add_kernel(m.device(), counted("t.add", GGML_OP_ADD, calls));
    ggml_tensor * sum = ggml_add(m.ctx.get(), m.weight(0), m.weight(5));
    EXPECT_EQ(m.compute(m.graph({sum}), sum)[0], 1005);
}

TEST_F(ext_plan, an_evaluation_callback_sees_each_node_of_a_kernel) {
    ExtMachine m;
    add_kernel(m.device(), counted("t.add", GGML_OP_ADD, calls));
    ggml_tensor * x = ggml_add(m.ctx.get(), ggml_add(m.ctx.get(), m.weight(0), m.weight(5)), m.weight(1));
    int seen = 0;
    ggml_backend_sched_set_eval_callback(
        m.sched(), [](ggml_tensor *, bool ask, void * n) { return *static_cast<int *>(n) += !ask, true; },
        &seen);
    EXPECT_EQ(m.compute(m.graph({x}), x)[0], 5 + 1000 + 1 + 1000);
    EXPECT_EQ(seen, 2);
    EXPECT_EQ(calls->prepares, 2) << "prepared with the graph, not with each part";
}

TEST_F(ext_plan, direct_computation_runs_kernels_with_a_plan_of_its_own) {
    ExtMachine m;
    add_kernel(m.device(), counted("t.add", GGML_OP_ADD, calls, 64));
    ggml_tensor * sum = ggml_add(m.ctx.get(), m.weight(0), m.weight(5));
    ggml_cgraph * g = m.graph({sum});
    ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(m.ctx.get(), m.backend()));
    EXPECT_EQ(ggml_backend_graph_compute_async(m.backend(), g), GGML_STATUS_SUCCESS);
    EXPECT_EQ(read(sum)[1], 1007) << "the plan is gone, so the work is done";
    EXPECT_EQ(calls->prepares, 1);
    EXPECT_EQ(calls->destroys, 1);
    EXPECT_EQ(ggml_backend_graph_compute_range(m.backend(), g, 0, 1), GGML_STATUS_SUCCESS);
    EXPECT_EQ(calls->executes, 2);
}

TEST_F(ext_plan, the_legacy_interfaces_do_not_dispatch_extensions) {
    ext::forget_device(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
    add_kernel(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), counted("t.add", GGML_OP_ADD, calls));
    ggml_context_ptr ctx(ggml_init({1 << 20, nullptr, false}));
    ggml_tensor *a = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4),
                *b = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4);
    ggml_set_f32(a, 1);
    ggml_set_f32(b, 2);
    ggml_tensor * sum = ggml_add(ctx.get(), a, b);
    ggml_cgraph * g = ggml_new_graph(ctx.get());
    ggml_build_forward_expand(g, sum);
    EXPECT_EQ(ggml_graph_compute_with_ctx(ctx.get(), g, 1), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_get_f32_1d(sum, 0), 3);
    ggml_backend_ptr cpu(ggml_backend_cpu_init());
    ggml_backend_graph_plan_t plan = ggml_backend_graph_plan_create(cpu.get(), g);
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(ggml_backend_graph_plan_compute(cpu.get(), plan), GGML_STATUS_SUCCESS);
    ggml_backend_graph_plan_free(cpu.get(), plan);
    EXPECT_EQ(ggml_get_f32_1d(sum, 0), 3);
    EXPECT_EQ(calls->executes, 0);
    EXPECT_EQ(ggml_backend_graph_compute(cpu.get(), g), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_get_f32_1d(sum, 0), 1003) << "the backend graph interface does";
    ext::forget_device(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU));
}

TEST_F(ext_plan, what_was_asked_or_planned_freezes_the_device) {
    const auto late = [this](ggml_backend_dev_t device) {
        KernelKit kit = counted("t.late", GGML_OP_SUB, calls);
        ggml_ext_kernel_desc desc = {};
        desc.struct_size = sizeof(desc);
        desc.name = "t.late";
        desc.op = GGML_OP_SUB;
        desc.supports = [](ggml_backend_dev_t, const ggml_tensor *, ggml_ext_why_t, void *) { return true; };
        desc.execute = [](const ggml_ext_execute_params *, void *, void *) { return GGML_STATUS_SUCCESS; };
        const bool refused = ggml_ext_register_kernel(device, &desc) == GGML_EXT_LATE;
        return refused && ggml_ext_last_reason() == GGML_EXT_REASON_LATE;
    };
    ExtMachine asked, planned, direct;
    ggml_tensor * sum = ggml_add(asked.ctx.get(), asked.weight(0), asked.weight(5));
    (void)ggml_backend_supports_op(asked.backend(), sum);
    EXPECT_TRUE(late(asked.device()));
    ggml_tensor * planned_sum = ggml_add(planned.ctx.get(), planned.weight(0), planned.weight(5));
    EXPECT_TRUE(ggml_backend_sched_reserve(planned.sched(), planned.graph({planned_sum})));
    EXPECT_TRUE(late(planned.device()));
    ggml_tensor * direct_sum = ggml_add(direct.ctx.get(), direct.weight(0), direct.weight(5));
    ggml_cgraph * g = direct.graph({direct_sum});
    ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors(direct.ctx.get(), direct.backend()));
    EXPECT_EQ(ggml_backend_graph_compute(direct.backend(), g), GGML_STATUS_SUCCESS);
    EXPECT_TRUE(late(direct.device()));
}

TEST_F(ext_plan, native_ranges_around_kernels_are_optimized_and_run_by_the_device) {
    std::vector<std::vector<std::string>> ranges;
    TestDeviceOptions options = device_options("DEV");
    options.graph_optimize = [&](ggml_cgraph * g) {
        auto & range = ranges.emplace_back();
        for (int i = 0; i < ggml_graph_n_nodes(g); ++i)
            range.push_back(ggml_op_name(ggml_graph_node(g, i)->op));
    };
    ExtMachine m(options);
    add_kernel(m.device(), counted("t.add", GGML_OP_ADD, calls));
    ggml_context * c = m.ctx.get();
    ggml_tensor * x = ggml_neg(c, ggml_sqr(c, m.weight(0)));
    x = ggml_abs(c, ggml_add(c, x, m.weight(1)));
    m.compute(m.graph({x}), x);
    ASSERT_EQ(ranges.size(), 2u);
    EXPECT_EQ(ranges[0], (std::vector<std::string>{"SQR", "UNARY"}));
    EXPECT_EQ(ranges[1], (std::vector<std::string>{"UNARY"}));
}

} // namespace
} // namespace ggml::test
