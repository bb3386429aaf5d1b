#include "place/stream_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sd {
namespace {

// Twelve layers of 100 between two small ones; graphs need 40, and 2 more for each further stage.
StreamRequest request(uint64_t budget, bool streams) {
    StreamRequest r;
    r.weights.assign(14, 100);
    r.weights.front() = r.weights.back() = 10;
    r.work = [](size_t, size_t count) { return uint64_t(40 + 2 * (count - 1)); };
    r.budget = budget;
    r.streams = streams;
    return r;
}

size_t staying_layers(const StreamPlan & plan) {
    return size_t(std::count_if(plan.segments.begin(), plan.segments.end(),
                                [](const StreamPlan::Segment & s) { return s.stays; }));
}

void expect_whole(const StreamPlan & plan) {
    size_t next = 0;
    for (const StreamPlan::Segment & s : plan.segments) {
        EXPECT_EQ(s.first, next);
        next += s.count;
    }
    EXPECT_EQ(next, 14u);
}

TEST(StreamPlan, what_fits_is_one_graph_that_stays) {
    for (const bool streams : {false, true}) {
        const StreamPlan plan = plan_stream(request(1220 + 66, streams));
        ASSERT_EQ(plan.segments.size(), 1u);
        EXPECT_TRUE(plan.segments[0].stays);
        EXPECT_EQ(plan.peak(), 1220u + 66u);
    }
    EXPECT_GT(plan_stream(request(1220 + 65, true)).segments.size(), 1u);
}

TEST(StreamPlan, streaming_keeps_as_much_as_fits_and_spreads_the_rest) {
    for (uint64_t budget = 260; budget < 1280; budget += 7) {
        const StreamPlan plan = plan_stream(request(budget, true));
        expect_whole(plan);
        EXPECT_LE(plan.peak(), budget);
        // One layer more would not fit.
        const bool more = plan.slots == 2 && staying_layers(plan) < 12;
        EXPECT_GT(more ? plan.peak() + 100 : budget + 1, budget) << budget;
        EXPECT_TRUE(plan.segments.front().stays && plan.segments.back().stays);
    }
    const StreamPlan half = plan_stream(request(20 + 600 + 200 + 40, true));
    EXPECT_EQ(staying_layers(half), 8u);
    for (size_t i = 1; i + 2 < half.segments.size(); ++i)
        EXPECT_NE(half.segments[i].stays, half.segments[i + 1].stays);
}

TEST(StreamPlan, one_slot_does_when_two_do_not_fit) {
    const StreamPlan plan = plan_stream(request(20 + 100 + 40, true));
    EXPECT_EQ(plan.slots, 1u);
    EXPECT_LE(plan.peak(), 160u);
}

TEST(StreamPlan, without_streaming_the_longest_runs_pass_through_one_slot) {
    const StreamPlan plan = plan_stream(request(310 + 46, false));
    expect_whole(plan);
    EXPECT_EQ(plan.slots, 1u);
    EXPECT_EQ(plan.staying, 0u);
    EXPECT_LE(plan.peak(), 356u);
    EXPECT_EQ(plan.segments.front().count, 4u); // the small one and three layers
    EXPECT_EQ(plan.segments.back().count, 4u);
    EXPECT_EQ(plan.segments.size(), 4u);
}

// What fits stage by stage is never refused for the sake of longer runs.
TEST(StreamPlan, runs_leave_room_for_the_largest_weights_and_the_most_work) {
    uint64_t state = 1;
    const auto random = [&](uint64_t most) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return 1 + (state >> 33) % most;
    };
    for (int i = 0; i < 20000; ++i) {
        StreamRequest r;
        std::vector<uint64_t> work;
        for (uint64_t n = 1 + random(7); n > 0; --n) {
            r.weights.push_back(random(6));
            work.push_back(random(4));
        }
        r.work = [&](size_t first, size_t count) {
            return *std::max_element(work.begin() + ptrdiff_t(first),
                                     work.begin() + ptrdiff_t(first + count));
        };
        const uint64_t least = *std::max_element(r.weights.begin(), r.weights.end()) + r.work(0, work.size());
        r.budget = random(24);
        const StreamPlan plan = plan_stream(r);
        EXPECT_LE(plan.peak(), std::max(r.budget, least));
    }
}

TEST(StreamPlan, what_cannot_fit_tells_how_much_is_needed) {
    for (const bool streams : {false, true}) EXPECT_EQ(plan_stream(request(99, streams)).peak(), 140u);
}

TEST(StreamPlan, no_graph_goes_beyond_a_begin) {
    for (const uint64_t budget : {400, 1000, 1286}) {
        for (const bool streams : {false, true}) {
            StreamRequest r = request(budget, streams);
            r.begins = {0, 5, 13};
            const StreamPlan plan = plan_stream(r);
            expect_whole(plan);
            EXPECT_LE(plan.peak(), budget);
            for (const size_t begin : {5u, 13u}) {
                EXPECT_TRUE(std::any_of(plan.segments.begin(), plan.segments.end(),
                                        [&](const StreamPlan::Segment & s) { return s.first == begin; }));
            }
        }
    }
    StreamRequest r = request(0, false);
    r.begins = {5, 13};
    const StreamPlan plan = plan_resident(r);
    ASSERT_EQ(plan.segments.size(), 3u);
    EXPECT_EQ(plan.work, 40u + 2u * 7u); // of the longest
    EXPECT_EQ(plan.staying, 1220u);
}

TEST(StreamPlan, no_slot_is_larger_than_memory_comes_in_one_piece) {
    StreamRequest r = request(1000, false);
    r.most_slot = 250;
    for (const StreamPlan::Segment & s : plan_stream(r).segments) EXPECT_LE(s.count, 3u);
    EXPECT_LE(plan_stream(r).slot, 250u);
}

} // namespace
} // namespace sd
