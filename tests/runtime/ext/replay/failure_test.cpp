// Every point at which recording or launching can fail: the execution fails, nothing runs a second time,
// nothing leaks, and the next execution is right.
#include "tests/runtime/ext/replay/fixture.h"

#include <gtest/gtest.h>

#include <new>

namespace ggml::ext::test {
namespace {

// A device one of whose calls fails while `failing` is set.
struct FailingLab {
    bool failing = false;
    Lab lab;
    Graph graph{lab};
    Planned p{lab, graph};

    explicit FailingLab(ReplayCall call) : lab(GGML_EXT_KERNEL_CAPTURE_SAFE, options(call)) {}

    TestDeviceOptions options(ReplayCall call) {
        TestDeviceOptions o = recording_device();
        o.replay_fails = [this, call](ReplayCall now) { return failing && now == call; };
        return o;
    }

    // Fails once; returns how often `square` was executed meanwhile.
    int fail(ggml_ext_reason reason) {
        const int before = lab.square.executions;
        Verdict why;
        failing = true;
        EXPECT_EQ(p.execute(&why), GGML_STATUS_FAILED);
        failing = false;
        EXPECT_EQ(why.reason, reason) << why.message();
        EXPECT_EQ(p.replay.last_miss().reason, reason);
        EXPECT_EQ(lab.device.counters.recordings, 0);
        return lab.square.executions - before;
    }

    // Starts over, with the right results.
    void expect_recovery() {
        EXPECT_EQ(p.run(2, 5), GGML_EXT_REASON_REPLAY_COLD);
        EXPECT_EQ(graph.read_out(), expected(graph, 2, 5));
        EXPECT_EQ(p.run(3, 5), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
        EXPECT_EQ(p.run(4, 5), GGML_EXT_REASON_NONE);
        EXPECT_EQ(graph.read_out(), expected(graph, 4, 5));
    }
};

TEST(replay, failure_to_begin_a_recording_is_the_executions_failure) {
    FailingLab f(ReplayCall::begin);
    f.p.run(1, 1);
    EXPECT_EQ(f.fail(GGML_EXT_REASON_REPLAY_CAPTURE_FAILED), 0);
    f.expect_recovery();
}

TEST(replay, failure_to_end_a_recording_is_the_executions_failure) {
    FailingLab f(ReplayCall::end);
    f.p.run(1, 1);
    EXPECT_EQ(f.fail(GGML_EXT_REASON_REPLAY_CAPTURE_FAILED), 1);
    f.expect_recovery();
}

TEST(replay, failure_to_launch_what_was_just_recorded_is_the_executions_failure) {
    FailingLab f(ReplayCall::launch);
    f.p.run(1, 1);
    EXPECT_EQ(f.fail(GGML_EXT_REASON_REPLAY_FAILED), 1);
    f.expect_recovery();
}

TEST(replay, failure_to_launch_later_is_the_executions_failure) {
    FailingLab f(ReplayCall::launch);
    f.p.run_until_captured();
    EXPECT_EQ(f.fail(GGML_EXT_REASON_REPLAY_FAILED), 0);
    f.expect_recovery();
}

TEST(replay, failure_of_a_kernel_while_recording_is_the_executions_failure) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    p.run(1, 1);
    lab.negate.in_execute = [](ggml_backend_t) { return GGML_STATUS_ALLOC_FAILED; };
    graph.write(2, 2);
    Verdict why;
    EXPECT_EQ(p.execute(&why), GGML_STATUS_ALLOC_FAILED);
    EXPECT_EQ(why.reason, GGML_EXT_REASON_EXECUTE_FAILED);
    EXPECT_EQ(p.replay.last_miss().reason, GGML_EXT_REASON_REPLAY_CAPTURE_FAILED);
    EXPECT_EQ(lab.square.executions, 2);
    EXPECT_EQ(lab.negate.executions, 2);
    EXPECT_EQ(lab.device.counters.recordings, 0);
    ggml_backend_synchronize(lab.backend.get());
    EXPECT_EQ(graph.read_out(), expected(graph, 1, 1)); // what was recorded by then has not run
    lab.negate.in_execute = nullptr;
    EXPECT_EQ(p.run(2, 3), GGML_EXT_REASON_REPLAY_COLD);
    EXPECT_EQ(graph.read_out(), expected(graph, 2, 3));
}

TEST(replay, memory_that_runs_out_while_recording_leaves_nothing_behind) {
    Lab lab(kReusable);
    Graph graph(lab);
    {
        Planned p(lab, graph);
        p.run(1, 1);
        lab.negate.in_execute = [](ggml_backend_t) -> ggml_status { throw std::bad_alloc(); };
        EXPECT_THROW(p.execute(), std::bad_alloc);
        lab.negate.in_execute = nullptr;
        EXPECT_EQ(lab.device.counters.recordings, 0);
    }
    EXPECT_EQ(lab.counters().retired_plans, 0u);
    Planned p(lab, graph);
    EXPECT_EQ(p.run(2, 1), GGML_EXT_REASON_REPLAY_COLD);
    EXPECT_EQ(p.run(3, 1), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
    EXPECT_EQ(graph.read_out(), expected(graph, 3, 1));
}

TEST(replay, failure_of_the_first_execution_leaves_the_plan_cold) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    lab.square.in_execute = [](ggml_backend_t) { return GGML_STATUS_ABORTED; };
    EXPECT_EQ(p.execute(), GGML_STATUS_ABORTED);
    ggml_backend_synchronize(lab.backend.get()); // what was sent before it failed reads the inputs
    lab.square.in_execute = nullptr;
    EXPECT_EQ(p.run(1, 1), GGML_EXT_REASON_REPLAY_COLD);
    EXPECT_EQ(p.run(1, 1), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
}

TEST(replay, a_kernel_that_makes_the_host_wait_while_recording_fails_the_execution) {
    Lab lab;
    Graph graph(lab);
    Planned p(lab, graph);
    lab.square.in_execute = [](ggml_backend_t backend) {
        ggml_backend_synchronize(backend);
        return GGML_STATUS_SUCCESS;
    };
    EXPECT_EQ(p.run(1, 1), GGML_EXT_REASON_REPLAY_COLD);
    Verdict why;
    EXPECT_EQ(p.execute(&why), GGML_STATUS_FAILED);
    EXPECT_EQ(why.reason, GGML_EXT_REASON_REPLAY_CAPTURE_FAILED);
}

TEST(replay, a_device_without_room_for_another_recording_fails_the_execution) {
    TestDeviceOptions options = recording_device();
    options.most_recordings = 1;
    Lab lab(GGML_EXT_KERNEL_CAPTURE_SAFE, options);
    Graph graph(lab), other(lab, {.place = 1 << 14});
    Planned p(lab, graph), q(lab, other);
    p.run_until_captured();
    q.run(1, 1);
    EXPECT_EQ(q.execute(), GGML_STATUS_FAILED);
    EXPECT_EQ(q.run(2, 1), GGML_EXT_REASON_REPLAY_COLD);
    EXPECT_EQ(p.run(2, 1), GGML_EXT_REASON_NONE);
}

TEST(replay, a_plan_that_cannot_be_recorded_runs_ordinarily_until_something_changes) {
    FailingLab f(ReplayCall::end);
    for (int i = 0; i < 2; ++i) {
        f.p.run(1, 1);
        f.fail(GGML_EXT_REASON_REPLAY_CAPTURE_FAILED);
    }
    f.failing = true;
    EXPECT_EQ(f.p.run(1, 1), GGML_EXT_REASON_REPLAY_COLD);
    for (float a = 1; a < 5; ++a) {
        EXPECT_EQ(f.p.run(a, 1), GGML_EXT_REASON_REPLAY_CAPTURE_FAILED);
        EXPECT_EQ(f.graph.read_out(), expected(f.graph, a, 1));
    }
    f.failing = false;
    f.graph.move(1 << 14);
    EXPECT_EQ(f.p.run(1, 1), GGML_EXT_REASON_REPLAY_NEW_ADDRESS);
    EXPECT_EQ(f.p.run(1, 1), GGML_EXT_REASON_REPLAY_CAPTURED_NOW);
    EXPECT_EQ(f.p.run(1, 1), GGML_EXT_REASON_NONE);
}

} // namespace
} // namespace ggml::ext::test
