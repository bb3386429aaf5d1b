#include "tests/runtime/ext/replay/fixture.h"

#include "runtime/backend/interface.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

namespace ggml::ext::test {
namespace {

TEST(replay, first_execution_warms_up_the_next_captures_and_launches_later_ones_replay) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    EXPECT_EQ(p.run(2, 1), GGML_EXT_REASON_REPLAY_COLD);
    EXPECT_EQ(graph.read_out(), expected(graph, 2, 1));
    EXPECT_EQ(lab.device.counters.recordings, 0);
    EXPECT_EQ(p.run(3, 1), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
    EXPECT_EQ(graph.read_out(), expected(graph, 3, 1));
    EXPECT_EQ(lab.device.counters.recordings, 1);
    EXPECT_EQ(lab.device.counters.launches, 1);
    EXPECT_EQ(lab.square.executions, 2);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(p.run(4, 1), GGML_EXT_REASON_NONE);
    EXPECT_EQ(lab.device.counters.launches, 4);
    EXPECT_EQ(lab.square.executions, 2);
    EXPECT_EQ(lab.negate.executions, 2);
    const ReplayCounters counters = lab.counters();
    EXPECT_EQ(counters.warmups, 1u);
    EXPECT_EQ(counters.captures, 1u);
    EXPECT_EQ(counters.replays, 3u);
}

TEST(replay, launches_native_fragments_and_kernels_as_one_recording) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    ASSERT_EQ(p.plan.steps.size(), 3u);
    EXPECT_EQ(p.plan.steps[1].kind, StepKind::native);
    p.run_until_captured();
    const int graphs = lab.device.counters.graphs, launches = lab.device.counters.launches;
    p.run(5, 1);
    EXPECT_EQ(graph.read_out(), expected(graph, 5, 1));
    EXPECT_EQ(lab.device.counters.graphs, graphs);
    EXPECT_EQ(lab.device.counters.launches, launches + 1);
}

TEST(replay, sees_new_contents_of_inputs) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    p.run_until_captured();
    for (float a : {7.0f, -3.0f, 0.5f}) {
        EXPECT_EQ(p.run(a, 2 * a), GGML_EXT_REASON_NONE);
        EXPECT_EQ(graph.read_out(), expected(graph, a, 2 * a));
    }
}

TEST(replay, is_ordered_with_work_queued_before_and_after) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    p.run_until_captured();
    const std::vector<float> a(16, 3), b(16, 4);
    std::vector<float> out(16);
    lab.device.hold();
    ggml_backend_tensor_set_async(lab.backend.get(), graph.a, a.data(), 0, ggml_nbytes(graph.a));
    ggml_backend_tensor_set_async(lab.backend.get(), graph.b, b.data(), 0, ggml_nbytes(graph.b));
    EXPECT_EQ(p.execute(), GGML_STATUS_SUCCESS);
    ggml_backend_tensor_get_async(lab.backend.get(), graph.out, out.data(), 0, ggml_nbytes(graph.out));
    lab.device.release();
    ggml_backend_synchronize(lab.backend.get());
    EXPECT_EQ(out, expected(graph, 3, 4));
}

TEST(replay, warms_up_again_when_an_address_changes_even_with_the_same_graph_uid) {
    for (const uint32_t flags : {uint32_t(GGML_EXT_KERNEL_CAPTURE_SAFE), kReusable}) {
        Lab lab(flags);
        Graph graph(lab);
        graph.graph->uid = 77;
        Planned p(lab, graph);
        p.run_until_captured();
        const uint64_t uid = p.plan.graph.uid;
        graph.move(1 << 14);
        EXPECT_EQ(p.run(2, 3), GGML_EXT_REASON_REPLAY_NEW_ADDRESS);
        EXPECT_EQ(p.plan.graph.uid, uid);
        EXPECT_EQ(graph.read_out(), expected(graph, 2, 3));
        EXPECT_EQ(lab.counters().warmups, 2u);
        EXPECT_EQ(p.run(3, 3), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
        EXPECT_EQ(p.run(4, 3), GGML_EXT_REASON_NONE);
        EXPECT_EQ(graph.read_out(), expected(graph, 4, 3));
    }
}

TEST(replay, warms_up_again_when_a_single_input_moves) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    p.run_until_captured();
    graph.b->data = static_cast<char *>(graph.b->data) + (1 << 14);
    EXPECT_EQ(p.run(2, 3), GGML_EXT_REASON_REPLAY_NEW_ADDRESS);
    EXPECT_EQ(p.replay.last_miss().node, 1);
    EXPECT_NE(p.replay.last_miss().words.find("'b', source 1 of node 1: data is 0x"), std::string::npos)
        << p.replay.last_miss().words;
    EXPECT_EQ(graph.read_out(), expected(graph, 2, 3));
}

TEST(replay, warms_up_again_when_the_stream_changes) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    p.run_until_captured();
    change_stream(lab.backend.get());
    EXPECT_EQ(p.run(2, 3), GGML_EXT_REASON_REPLAY_NEW_STREAM);
    EXPECT_EQ(p.run(2, 3), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
    EXPECT_EQ(p.run(2, 3), GGML_EXT_REASON_NONE);
}

TEST(replay, a_change_between_warm_up_and_capture_warms_up_again) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    p.run(1, 1);
    graph.move(1 << 14);
    EXPECT_EQ(p.run(1, 1), GGML_EXT_REASON_REPLAY_NEW_ADDRESS);
    EXPECT_EQ(lab.device.counters.launches, 0);
    EXPECT_EQ(p.run(1, 1), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
}

TEST(replay, warms_up_again_when_its_workspace_moves) {
    for (const uint32_t flags : {uint32_t(GGML_EXT_KERNEL_CAPTURE_SAFE), kReusable}) {
        Lab lab(flags);
        lab.square.workspace_bytes = 4096;
        Graph graph(lab);
        Planned p(lab, graph);
        p.run_until_captured();
        const std::weak_ptr<Workspace> old = p.workspace;
        p.workspace = Workspace::allocate(lab.device.buffer_type(), 4096, nullptr);
        EXPECT_EQ(p.run(2, 3), GGML_EXT_REASON_REPLAY_NEW_ADDRESS);
        EXPECT_NE(p.replay.last_miss().words.find("workspace"), std::string::npos);
        EXPECT_TRUE(old.expired());
        EXPECT_EQ(p.run(2, 3), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
        EXPECT_EQ(graph.read_out(), expected(graph, 2, 3));
    }
}

// Looking at the guards makes the host wait, which would break the recording.
TEST(replay, guards_behind_the_workspace_are_looked_at_outside_of_recordings_only) {
    Lab lab;
    lab.square.workspace_bytes = 4096;
    Graph graph(lab);
    Planned p(lab, graph, Workspace::allocate(lab.device.buffer_type(), 4096, nullptr, /*guarded=*/true));
    p.run_until_captured();
    EXPECT_TRUE(p.workspace->guards_intact());
    EXPECT_EQ(p.run(3, 1), GGML_EXT_REASON_NONE);
    EXPECT_EQ(graph.read_out(), expected(graph, 3, 1));
}

TEST(replay, a_reusable_plan_finds_the_recording_of_addresses_it_had_before) {
    Lab lab(kReusable);
    Graph graph(lab);
    Planned p(lab, graph);
    p.run_until_captured();
    graph.move(1 << 14);
    p.run_until_captured();
    for (float a = 1; a < 4; ++a) {
        graph.move(0);
        EXPECT_EQ(p.run(a, 1), GGML_EXT_REASON_NONE);
        EXPECT_EQ(graph.read_out(), expected(graph, a, 1));
        graph.move(1 << 14);
        EXPECT_EQ(p.run(a, 2), GGML_EXT_REASON_NONE);
        EXPECT_EQ(graph.read_out(), expected(graph, a, 2));
    }
}

TEST(replay, two_plans_in_turn_both_stay_captured) {
    Lab lab;
    lab.square.workspace_bytes = 4096;
    Graph conditioned(lab), unconditioned(lab, {.n = 24, .place = 1 << 14});
    Planned p(lab, conditioned);
    Planned q(lab, unconditioned, p.workspace);
    for (int i = 0; i < 2; ++i) p.run(1, 1), q.run(1, 1);
    for (float a = 1; a < 4; ++a) {
        EXPECT_EQ(p.run(a, 1), GGML_EXT_REASON_NONE);
        EXPECT_EQ(q.run(a, 2), GGML_EXT_REASON_NONE);
        EXPECT_EQ(conditioned.read_out(), expected(conditioned, a, 1));
        EXPECT_EQ(unconditioned.read_out(), expected(unconditioned, a, 2));
    }
    EXPECT_EQ(lab.device.counters.recordings, 2);
}

// Recording must come back after any number of changes, not be given up.
TEST(replay, after_many_shape_changes_a_stable_graph_is_captured_again_with_the_same_results) {
    for (const uint32_t flags : {uint32_t(GGML_EXT_KERNEL_CAPTURE_SAFE), kReusable}) {
        Lab lab(flags);
        for (int64_t n = 8; n < 14; ++n) {
            Graph graph(lab, {.n = n});
            Planned p(lab, graph);
            for (int i = 0; i < 2; ++i) p.run(float(n), 1);
            EXPECT_EQ(graph.read_out(), expected(graph, float(n), 1));
        }
        Graph graph(lab, {.n = 20});
        Planned p(lab, graph), ordinary(lab, graph);
        ordinary.enabled = false;
        p.run(2, 1);
        EXPECT_EQ(p.run(2, 1), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
        for (float a = 2; a < 5; ++a) {
            EXPECT_EQ(p.run(a, 1), GGML_EXT_REASON_NONE);
            const std::vector<float> replayed = graph.read_out();
            ordinary.run(a, 1);
            EXPECT_EQ(replayed, graph.read_out());
        }
    }
}

TEST(replay, after_many_address_changes_a_stable_plan_is_captured_again) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    for (size_t i = 1; i < 8; ++i) {
        graph.move(i * 4096);
        p.run(1, 1);
        EXPECT_EQ(p.run(1, 1), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
    }
    for (int i = 0; i < 3; ++i) EXPECT_EQ(p.run(3, float(i)), GGML_EXT_REASON_NONE);
    EXPECT_EQ(graph.read_out(), expected(graph, 3, 2));
}

TEST(replay, says_when_recordings_begin_and_when_they_no_longer_fit) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    LogCapture log;
    p.run_until_captured();
    EXPECT_NE(log.text.find("3 nodes on TEST are replayed from now on"), std::string::npos) << log.text;
    log.text.clear();
    p.run(1, 1);
    EXPECT_EQ(log.text, "");
    graph.move(1 << 14);
    p.run(1, 1);
    EXPECT_NE(log.text.find("replay.new_address"), std::string::npos) << log.text;
}

TEST(replay, a_plan_may_end_before_the_backend) {
    Lab lab;
    Graph graph(lab);
    {
        Planned p(lab, graph);
        p.run_until_captured();
        EXPECT_EQ(p.execute(), GGML_STATUS_SUCCESS); // is still running when the plan ends
    }
    EXPECT_EQ(lab.device.counters.recordings, 0);
}

TEST(replay, a_plan_may_end_after_the_backend) {
    for (const uint32_t flags : {uint32_t(GGML_EXT_KERNEL_CAPTURE_SAFE), kReusable}) {
        Lab lab(flags);
        lab.square.workspace_bytes = 4096;
        Graph graph(lab);
        Planned p(lab, graph);
        p.run_until_captured();
        EXPECT_EQ(p.execute(), GGML_STATUS_SUCCESS);
        lab.backend.reset();
        EXPECT_EQ(lab.device.counters.recordings, 0);
    }
}

TEST(replay, releasing_recordings_waits_for_them_and_makes_plans_cold) {
    Lab lab;
    Graph graph(lab), other(lab, {.place = 1 << 14});
    Planned p(lab, graph), q(lab, other);
    p.run_until_captured();
    q.run(1, 1);
    EXPECT_EQ(p.execute(), GGML_STATUS_SUCCESS);
    release_recordings(lab.backend.get());
    EXPECT_EQ(lab.device.counters.recordings, 0);
    EXPECT_EQ(lab.counters().captures, 0u);
    EXPECT_EQ(p.run(2, 2), GGML_EXT_REASON_REPLAY_COLD);
    EXPECT_EQ(q.run(2, 2), GGML_EXT_REASON_REPLAY_COLD);
    EXPECT_EQ(p.run(2, 2), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
    EXPECT_EQ(p.run(3, 2), GGML_EXT_REASON_NONE);
    EXPECT_EQ(graph.read_out(), expected(graph, 3, 2));
}

TEST(replay, the_state_of_a_plan_can_be_moved) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    p.run_until_captured();
    Replay moved = std::move(p.replay);
    EXPECT_EQ(moved.run(p.plan, p.workspace, true, nullptr), GGML_STATUS_SUCCESS);
    EXPECT_EQ(moved.last_miss().reason, GGML_EXT_REASON_NONE);
    moved = Replay();
    EXPECT_EQ(lab.device.counters.recordings, 0);
}

} // namespace
} // namespace ggml::ext::test
