// When a plan runs ordinarily, and that it says why.
#include "tests/runtime/ext/replay/fixture.h"

#include <gtest/gtest.h>

namespace ggml::ext::test {
namespace {

// Runs three times; every execution must be an ordinary one for this reason.
void expect_ordinary(Lab & lab, Planned & p, ggml_ext_reason reason) {
    const int before = lab.square.executions;
    for (float a = 1; a < 4; ++a) {
        EXPECT_EQ(p.run(a, 1), reason);
        EXPECT_FALSE(p.replay.last_miss().words.empty());
        EXPECT_EQ(p.graph.read_out(), expected(p.graph, a, 1));
    }
    EXPECT_EQ(lab.square.executions, before + 3);
    EXPECT_EQ(lab.device.counters.launches, 0);
    EXPECT_EQ(lab.device.counters.recordings, 0);
}

TEST(replay, a_plan_with_a_kernel_that_is_not_capture_safe_runs_ordinarily_and_names_it) {
    Lab lab(0);
    Graph graph(lab);
    Planned p(lab, graph);
    expect_ordinary(lab, p, GGML_EXT_REASON_REPLAY_KERNEL);
    EXPECT_EQ(p.replay.last_miss().words, "test.square is registered without CAPTURE_SAFE");
}

TEST(replay, a_mixed_plan_runs_ordinarily_and_names_the_kernel) {
    Lab lab;
    TestKernel unsafe;
    ggml_ext_kernel_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = "test.unsafe";
    desc.op = GGML_OP_ADD;
    desc.supports = [](ggml_backend_dev_t, const ggml_tensor *, ggml_ext_why_t, void *) { return true; };
    desc.execute = [](const ggml_ext_execute_params * params, void *, void *) {
        const ggml_tensor * node = params->step.nodes[0];
        auto * to = static_cast<float *>(real_address(node));
        const auto * a = static_cast<const float *>(real_address(node->src[0]));
        const auto * b = static_cast<const float *>(real_address(node->src[1]));
        const int64_t n = ggml_nelements(node);
        enqueue(params->backend, [=] {
            for (int64_t i = 0; i < n; ++i) to[i] = a[i] + b[i];
        });
        return GGML_STATUS_SUCCESS;
    };
    ASSERT_EQ(ggml_ext_register_kernel(lab.device.device(), &desc), GGML_EXT_SUCCESS);
    Graph graph(lab);
    Planned p(lab, graph);
    expect_ordinary(lab, p, GGML_EXT_REASON_REPLAY_KERNEL);
    EXPECT_NE(p.replay.last_miss().words.find("test.unsafe"), std::string::npos);
}

TEST(replay, a_device_that_cannot_record_runs_ordinarily) {
    Lab lab(kReusable, TestDeviceOptions{});
    Graph graph(lab);
    Planned p(lab, graph);
    expect_ordinary(lab, p, GGML_EXT_REASON_REPLAY_NO_DEVICE);
    EXPECT_EQ(lab.counters().warmups, 0u);
}

TEST(replay, a_device_whose_scratch_addresses_may_change_runs_ordinarily) {
    TestDeviceOptions options = recording_device();
    options.stable_addresses = false;
    Lab lab(kReusable, options);
    Graph graph(lab);
    Planned p(lab, graph);
    expect_ordinary(lab, p, GGML_EXT_REASON_REPLAY_ADDRESSES);
}

TEST(replay, can_be_switched_off_by_the_caller) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    p.enabled = false;
    expect_ordinary(lab, p, GGML_EXT_REASON_REPLAY_OFF);
}

TEST(replay, can_be_switched_off_by_the_device_family) {
    Lab lab;
    lab.device.replay_enabled = false;
    Graph graph(lab);
    Planned p(lab, graph);
    expect_ordinary(lab, p, GGML_EXT_REASON_REPLAY_OFF);
}

TEST(replay, what_was_recorded_before_it_was_switched_off_serves_again_afterwards) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    p.run_until_captured();
    lab.device.replay_enabled = false;
    EXPECT_EQ(p.run(2, 1), GGML_EXT_REASON_REPLAY_OFF);
    lab.device.replay_enabled = true;
    EXPECT_EQ(p.run(3, 1), GGML_EXT_REASON_NONE);
    EXPECT_EQ(graph.read_out(), expected(graph, 3, 1));
}

TEST(replay, an_enclosing_recording_of_the_caller_records_the_plan_directly) {
    Lab lab;
    lab.square.workspace_bytes = 4096;
    Graph graph(lab);
    Planned p(lab, graph);
    p.run(1, 1);
    const int executions = lab.square.executions;
    graph.write(2, 1);
    begin_capture(lab.backend.get());
    EXPECT_EQ(p.execute(), GGML_STATUS_SUCCESS);
    EXPECT_EQ(p.replay.last_miss().reason, GGML_EXT_REASON_REPLAY_ENCLOSED);
    const std::function<void()> launch = end_capture(lab.backend.get());
    ASSERT_TRUE(launch);
    ggml_backend_synchronize(lab.backend.get());
    EXPECT_EQ(lab.square.executions, executions + 1);
    EXPECT_EQ(graph.read_out(), expected(graph, 1, 1)); // nothing has run yet
    for (float a = 2; a < 4; ++a) {
        graph.write(a, 1);
        launch();
        ggml_backend_synchronize(lab.backend.get());
        EXPECT_EQ(graph.read_out(), expected(graph, a, 1));
    }
    EXPECT_EQ(lab.square.executions, executions + 1);
}

TEST(replay, a_guarded_workspace_is_not_looked_at_inside_the_callers_recording_whatever_else_is_off) {
    Lab lab;
    lab.square.workspace_bytes = 4096;
    Graph graph(lab);
    Planned p(lab, graph,
              Workspace::allocate(lab.device.buffer_type(), 4096, /*why=*/nullptr, /*guarded=*/true));
    p.enabled = false;
    p.run(1, 1);
    begin_capture(lab.backend.get());
    EXPECT_EQ(p.execute(), GGML_STATUS_SUCCESS);
    EXPECT_EQ(p.replay.last_miss().reason, GGML_EXT_REASON_REPLAY_OFF);
    const std::function<void()> launch = end_capture(lab.backend.get());
    ASSERT_TRUE(launch) << "somebody waited for the device";
    graph.write(2, 1);
    launch();
    ggml_backend_synchronize(lab.backend.get());
    EXPECT_EQ(graph.read_out(), expected(graph, 2, 1));
}

TEST(replay, an_enclosing_recording_leaves_the_state_of_the_plan_alone) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    const auto run_enclosed = [&] {
        begin_capture(lab.backend.get());
        EXPECT_EQ(p.execute(), GGML_STATUS_SUCCESS);
        EXPECT_EQ(p.replay.last_miss().reason, GGML_EXT_REASON_REPLAY_ENCLOSED);
        EXPECT_TRUE(end_capture(lab.backend.get()));
    };
    run_enclosed();
    EXPECT_EQ(p.run(1, 1), GGML_EXT_REASON_REPLAY_COLD);
    run_enclosed();
    EXPECT_EQ(p.run(1, 1), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
    run_enclosed();
    EXPECT_EQ(p.run(2, 1), GGML_EXT_REASON_NONE);
    EXPECT_EQ(graph.read_out(), expected(graph, 2, 1));
}

TEST(replay, a_plan_that_ends_inside_a_recording_of_the_caller_does_not_break_it) {
    Lab lab;
    Graph graph(lab);
    {
        Planned p(lab, graph);
        p.run_until_captured();
        begin_capture(lab.backend.get());
    }
    EXPECT_TRUE(end_capture(lab.backend.get()));
    EXPECT_EQ(lab.device.counters.recordings, 1); // waits for a moment when the host may wait
    Graph next(lab, {.n = 20});
    {
        Planned p(lab, next);
        p.run_until_captured();
    }
    EXPECT_EQ(lab.device.counters.recordings, 0);
}

} // namespace
} // namespace ggml::ext::test
