// Recordings that outlive their plan.
#include "tests/runtime/ext/replay/fixture.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ggml::ext::test {
namespace {

// Captures a plan of such a graph and lets both go.
void capture_and_end(Lab & lab, const GraphSpec & spec = {}) {
    Graph graph(lab, spec);
    Planned(lab, graph).run_until_captured();
}

// First execution of a new plan of such a graph.
ggml_ext_reason first_run(Lab & lab, const GraphSpec & spec = {}, float a = 3,
                          std::string * words = nullptr) {
    Graph graph(lab, spec);
    Planned p(lab, graph);
    const ggml_ext_reason reason = p.run(a, 2);
    if (words != nullptr) *words = p.replay.last_miss().words;
    EXPECT_EQ(graph.read_out(), expected(graph, a, 2));
    return reason;
}

TEST(replay, an_equal_plan_with_a_new_metadata_arena_replays_in_its_first_execution) {
    Lab lab(kReusable);
    lab.square.workspace_bytes = 4096;
    capture_and_end(lab);
    EXPECT_EQ(lab.counters().retired_plans, 1u);
    const int executions = lab.square.executions;
    for (float a = 1; a < 5; ++a) EXPECT_EQ(first_run(lab, {}, a), GGML_EXT_REASON_NONE);
    EXPECT_EQ(lab.square.executions, executions);
    EXPECT_EQ(lab.counters().adopted, 4u);
    EXPECT_EQ(lab.counters().captures, 1u);
    EXPECT_EQ(lab.device.counters.recordings, 1);
}

TEST(replay, prepare_and_destroy_still_run_for_every_rebuilt_plan) {
    Lab lab(kReusable);
    capture_and_end(lab);
    EXPECT_EQ(lab.square.prepared, 0);
    Graph graph(lab);
    Planned p(lab, graph);
    EXPECT_EQ(lab.square.prepared, 1);
    EXPECT_EQ(p.run(1, 1), GGML_EXT_REASON_NONE);
}

TEST(replay, a_recording_brings_the_workspace_it_was_recorded_with) {
    Lab lab(kReusable);
    lab.square.workspace_bytes = 4096;
    capture_and_end(lab);
    const size_t kept = lab.counters().retired_bytes;
    EXPECT_EQ(kept, Workspace::allocated_bytes(lab.device.buffer_type(), 4096));
    Graph graph(lab);
    Planned p(lab, graph);
    ggml_backend_buffer_clear(p.workspace->buffer(), 0x11);
    for (float a = 1; a < 4; ++a) {
        EXPECT_EQ(p.run(a, 1), GGML_EXT_REASON_NONE);
        EXPECT_EQ(graph.read_out(), expected(graph, a, 1));
    }
    const char untouched = 0x11;
    EXPECT_EQ(std::memcmp(real_address(p.workspace->buffer()), &untouched, 1), 0);
    // Whatever the scheduler does with its own.
    p.workspace = Workspace::allocate(lab.device.buffer_type(), 8192, nullptr);
    EXPECT_EQ(p.run(2, 1), GGML_EXT_REASON_NONE);
    EXPECT_EQ(lab.counters().retired_bytes, 0u);
}

TEST(replay, a_rebuilt_plan_can_adopt_while_the_recording_is_still_running) {
    Lab lab(kReusable);
    Graph graph(lab);
    graph.write(2, 2);
    {
        Planned p(lab, graph);
        p.run_until_captured();
        lab.device.hold();
        EXPECT_EQ(p.execute(), GGML_STATUS_SUCCESS);
    }
    Graph next(lab);
    Planned q(lab, next);
    EXPECT_EQ(q.execute(), GGML_STATUS_SUCCESS);
    EXPECT_EQ(q.replay.last_miss().reason, GGML_EXT_REASON_NONE);
    lab.device.release();
}

TEST(replay, a_plan_that_is_not_reusable_ends_with_its_recording) {
    Lab lab;
    capture_and_end(lab);
    EXPECT_EQ(lab.device.counters.recordings, 0);
    EXPECT_EQ(lab.counters().retired_plans, 0u);
    std::string words;
    EXPECT_EQ(first_run(lab, {}, 3, &words), GGML_EXT_REASON_REPLAY_NOT_REUSABLE);
    EXPECT_EQ(words, "test.square is registered without REPLAY_REUSABLE");
}

TEST(replay, one_kernel_that_is_not_reusable_makes_the_plan_so) {
    Lab lab(kReusable);
    TestKernel unused;
    ggml_ext_kernel_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = "test.scale";
    desc.op = GGML_OP_SCALE;
    desc.flags = GGML_EXT_KERNEL_CAPTURE_SAFE;
    desc.supports = [](ggml_backend_dev_t, const ggml_tensor *, ggml_ext_why_t, void *) { return true; };
    desc.execute = [](const ggml_ext_execute_params *, void *, void *) { return GGML_STATUS_SUCCESS; };
    ASSERT_EQ(ggml_ext_register_kernel_ex(lab.device.device(), &desc), GGML_EXT_SUCCESS);
    capture_and_end(lab, {.scale = 2});
    EXPECT_EQ(lab.counters().captures, 1u);
    EXPECT_EQ(lab.counters().retired_plans, 0u);
}

TEST(replay, different_shapes_are_not_reused) {
    Lab lab(kReusable);
    capture_and_end(lab);
    std::string words;
    EXPECT_EQ(first_run(lab, {.n = 20}, 3, &words), GGML_EXT_REASON_REPLAY_NEW_METADATA);
    EXPECT_EQ(words, "node 0 'squared': ne[0] is 20, was 16");
}

TEST(replay, different_parameters_are_not_reused) {
    Lab lab(kReusable);
    capture_and_end(lab, {.scale = 2});
    std::string words;
    EXPECT_EQ(first_run(lab, {.scale = 3}, 3, &words), GGML_EXT_REASON_REPLAY_NEW_METADATA);
    EXPECT_NE(words.find("node 3 'out': op_params[0]"), std::string::npos) << words;
    EXPECT_EQ(first_run(lab, {.scale = 2}), GGML_EXT_REASON_NONE);
}

TEST(replay, different_edges_are_not_reused) {
    Lab lab(kReusable);
    capture_and_end(lab);
    std::string words;
    EXPECT_EQ(first_run(lab, {.swapped = true}, 3, &words), GGML_EXT_REASON_REPLAY_NEW_GRAPH);
    EXPECT_EQ(words, "node 1 'sum': src[0] is another tensor");
}

TEST(replay, a_graph_of_another_size_is_just_a_new_one) {
    Lab lab(kReusable);
    capture_and_end(lab);
    EXPECT_EQ(first_run(lab, {.scale = 2}), GGML_EXT_REASON_REPLAY_COLD);
}

TEST(replay, different_addresses_are_not_reused) {
    Lab lab(kReusable);
    capture_and_end(lab);
    EXPECT_EQ(first_run(lab, {.place = 1 << 14}), GGML_EXT_REASON_REPLAY_NEW_ADDRESS);
}

TEST(replay, another_buffer_is_not_reused) {
    Lab lab(kReusable);
    ggml_backend_buffer_ptr other(ggml_backend_buft_alloc_buffer(lab.device.buffer_type(), 1 << 16));
    capture_and_end(lab);
    EXPECT_EQ(first_run(lab, {.buffer = other.get()}), GGML_EXT_REASON_REPLAY_NEW_ADDRESS);
}

TEST(replay, another_stream_is_not_reused) {
    Lab lab(kReusable);
    capture_and_end(lab);
    change_stream(lab.backend.get());
    EXPECT_EQ(first_run(lab), GGML_EXT_REASON_REPLAY_NEW_STREAM);
}

TEST(replay, another_workspace_requirement_is_not_reused) {
    Lab lab(kReusable);
    lab.square.workspace_bytes = 4096;
    capture_and_end(lab);
    lab.square.workspace_bytes = 8192;
    std::string words;
    EXPECT_EQ(first_run(lab, {}, 3, &words), GGML_EXT_REASON_REPLAY_NEW_WORKSPACE);
    EXPECT_EQ(words, "node 0: workspace bytes is 8192, was 4096");
}

TEST(replay, other_kernels_are_not_reused) {
    Lab lab(kReusable);
    capture_and_end(lab);
    lab.policy.disabled = {"test.square"};
    std::string words;
    EXPECT_EQ(first_run(lab, {}, 3, &words), GGML_EXT_REASON_REPLAY_NEW_KERNELS);
    EXPECT_EQ(words, "node 0: the device itself, was test.square");
    lab.policy.disabled.clear();
    EXPECT_EQ(first_run(lab), GGML_EXT_REASON_NONE);
}

TEST(replay, another_backend_of_the_device_has_recordings_of_its_own) {
    Lab lab(kReusable);
    capture_and_end(lab);
    ggml_backend_ptr other(lab.device.new_backend());
    std::swap(lab.backend, other);
    EXPECT_EQ(first_run(lab), GGML_EXT_REASON_REPLAY_COLD);
    EXPECT_EQ(lab.counters().retired_plans, 0u);
    std::swap(lab.backend, other);
    other.reset();
    EXPECT_EQ(first_run(lab), GGML_EXT_REASON_NONE);
}

TEST(replay, the_closest_of_several_retired_recordings_explains_a_miss) {
    Lab lab(kReusable);
    capture_and_end(lab, {.n = 20});
    capture_and_end(lab);
    capture_and_end(lab, {.n = 24});
    EXPECT_EQ(first_run(lab, {.place = 1 << 14}), GGML_EXT_REASON_REPLAY_NEW_ADDRESS);
}

TEST(replay, of_two_equal_plans_at_a_time_one_recording_is_kept) {
    Lab lab(kReusable);
    {
        Graph graph(lab), same(lab);
        Planned p(lab, graph), q(lab, same);
        p.run_until_captured();
        q.run_until_captured();
        EXPECT_EQ(lab.device.counters.recordings, 2);
    }
    EXPECT_EQ(lab.counters().retired_plans, 1u);
    EXPECT_EQ(lab.device.counters.recordings, 1);
    EXPECT_EQ(first_run(lab), GGML_EXT_REASON_NONE);
}

// Steps of sampling: both graphs are planned anew each time.
TEST(replay, two_graphs_rebuilt_in_turn_keep_replaying) {
    Lab lab(kReusable);
    lab.square.workspace_bytes = 4096;
    capture_and_end(lab);
    capture_and_end(lab, {.n = 24, .place = 1 << 14});
    for (float step = 1; step < 6; ++step) {
        EXPECT_EQ(first_run(lab, {}, step), GGML_EXT_REASON_NONE);
        EXPECT_EQ(first_run(lab, {.n = 24, .place = 1 << 14}, step), GGML_EXT_REASON_NONE);
    }
    EXPECT_EQ(lab.counters().evictions, 0u);
}

} // namespace
} // namespace ggml::ext::test
