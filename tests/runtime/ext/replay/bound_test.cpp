// How much a backend keeps of plans that have ended.
#include "tests/runtime/ext/replay/fixture.h"

#include <gtest/gtest.h>

namespace ggml::ext::test {
namespace {

constexpr size_t kMiB = size_t(1) << 20;

size_t allocated(Lab & lab, size_t bytes) {
    return Workspace::allocated_bytes(lab.device.buffer_type(), bytes);
}

void capture_and_end_sized(Lab & lab, int64_t n, std::shared_ptr<Workspace> workspace = nullptr) {
    Graph graph(lab, {.n = n});
    Planned(lab, graph, std::move(workspace)).run_until_captured();
}

ggml_ext_reason first_run_sized(Lab & lab, int64_t n) {
    Graph graph(lab, {.n = n});
    Planned p(lab, graph);
    return p.run(1, 1);
}

TEST(replay, the_seventeenth_retired_plan_evicts_the_oldest) {
    Lab lab(kReusable);
    for (int64_t n = 1; n <= 16; ++n) capture_and_end_sized(lab, n);
    EXPECT_EQ(lab.counters().retired_plans, kMostRetiredPlans);
    EXPECT_EQ(lab.counters().evictions, 0u);
    capture_and_end_sized(lab, 17);
    EXPECT_EQ(lab.counters().retired_plans, kMostRetiredPlans);
    EXPECT_EQ(lab.counters().evictions, 1u);
    EXPECT_EQ(lab.device.counters.recordings, 16);
    EXPECT_EQ(first_run_sized(lab, 1), GGML_EXT_REASON_REPLAY_EVICTED);
    for (int64_t n = 2; n <= 17; ++n) EXPECT_EQ(first_run_sized(lab, n), GGML_EXT_REASON_NONE) << n;
}

TEST(replay, being_used_again_makes_a_retired_plan_young) {
    Lab lab(kReusable);
    for (int64_t n = 1; n <= 16; ++n) capture_and_end_sized(lab, n);
    EXPECT_EQ(first_run_sized(lab, 1), GGML_EXT_REASON_NONE);
    capture_and_end_sized(lab, 17);
    EXPECT_EQ(first_run_sized(lab, 1), GGML_EXT_REASON_NONE);
    EXPECT_EQ(first_run_sized(lab, 2), GGML_EXT_REASON_REPLAY_EVICTED);
}

TEST(replay, workspaces_of_retired_plans_stay_within_256_mib_and_the_oldest_goes_first) {
    Lab lab(kReusable);
    lab.square.workspace_bytes = 100 * kMiB;
    for (int64_t n = 1; n <= 2; ++n) capture_and_end_sized(lab, n);
    EXPECT_EQ(lab.counters().retired_bytes, 2 * allocated(lab, 100 * kMiB));
    capture_and_end_sized(lab, 3);
    EXPECT_EQ(lab.counters().retired_plans, 2u);
    EXPECT_EQ(lab.counters().retired_bytes, 2 * allocated(lab, 100 * kMiB));
    EXPECT_EQ(lab.counters().evictions, 1u);
    EXPECT_EQ(first_run_sized(lab, 1), GGML_EXT_REASON_REPLAY_EVICTED);
    EXPECT_EQ(first_run_sized(lab, 2), GGML_EXT_REASON_NONE);
    EXPECT_EQ(first_run_sized(lab, 3), GGML_EXT_REASON_NONE);
}

TEST(replay, evicted_workspaces_go_back_to_the_device) {
    Lab lab(kReusable);
    lab.square.workspace_bytes = 100 * kMiB;
    const size_t before = lab.device.counters.bytes_in_use;
    for (int64_t n = 1; n <= 5; ++n) capture_and_end_sized(lab, n);
    EXPECT_EQ(lab.device.counters.bytes_in_use - before, 2 * allocated(lab, 100 * kMiB));
    release_recordings(lab.backend.get());
    EXPECT_EQ(lab.device.counters.bytes_in_use, before);
}

TEST(replay, a_workspace_that_retired_plans_share_counts_once) {
    Lab lab(kReusable);
    lab.square.workspace_bytes = 100 * kMiB;
    const std::shared_ptr<Workspace> shared =
        Workspace::allocate(lab.device.buffer_type(), 100 * kMiB, nullptr);
    for (int64_t n = 1; n <= 4; ++n) capture_and_end_sized(lab, n, shared);
    EXPECT_EQ(lab.counters().retired_plans, 4u);
    EXPECT_EQ(lab.counters().retired_bytes, allocated(lab, 100 * kMiB));
    EXPECT_EQ(lab.counters().evictions, 0u);
}

TEST(replay, a_plan_whose_workspace_alone_exceeds_the_bound_replays_but_is_not_retired) {
    Lab lab(kReusable);
    lab.square.workspace_bytes = 100 * kMiB;
    capture_and_end_sized(lab, 1);
    lab.square.workspace_bytes = 257 * kMiB;
    capture_and_end_sized(lab, 2);
    EXPECT_EQ(lab.counters().captures, 2u);
    EXPECT_EQ(lab.counters().retired_plans, 1u);
    EXPECT_EQ(lab.counters().evictions, 0u);
    EXPECT_EQ(first_run_sized(lab, 2), GGML_EXT_REASON_REPLAY_EVICTED);
    lab.square.workspace_bytes = 100 * kMiB;
    EXPECT_EQ(first_run_sized(lab, 1), GGML_EXT_REASON_NONE);
}

TEST(replay, eviction_waits_for_what_still_runs) {
    Lab lab(kReusable);
    for (int64_t n = 1; n <= 15; ++n) capture_and_end_sized(lab, n);
    Graph graph(lab, {.n = 16}), other(lab, {.n = 17});
    auto p = std::make_unique<Planned>(lab, graph);
    auto q = std::make_unique<Planned>(lab, other);
    p->run_until_captured();
    q->run_until_captured();
    EXPECT_EQ(p->execute(), GGML_STATUS_SUCCESS);
    EXPECT_EQ(q->execute(), GGML_STATUS_SUCCESS);
    p.reset();
    q.reset();
    EXPECT_EQ(lab.counters().evictions, 1u);
    // Lab finds recordings that were freed while they ran.
}

} // namespace
} // namespace ggml::ext::test
