#include "backends/cpu/team.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <vector>

namespace ggml::cpu {
namespace {

TEST(team, runs_every_task_index_once) {
    for (int threads : {1, 2, 3, 8}) {
        const Team team(threads);
        std::mutex mutex;
        std::multiset<int> seen;
        int reported = 0;
        team.run(threads, [&](int ith, int nth) {
            const std::lock_guard<std::mutex> lock(mutex);
            seen.insert(ith);
            reported = nth;
        });
        EXPECT_EQ(reported, threads);
        ASSERT_EQ(int(seen.size()), threads);
        for (int i = 0; i < threads; ++i) EXPECT_EQ(seen.count(i), 1u);
    }
}

TEST(team, shares_are_the_same_where_openmp_gives_fewer_threads) {
    const Team team(4);
    std::mutex mutex;
    std::multiset<std::pair<int, int>> seen;
#pragma omp parallel num_threads(2)
    team.run(4, [&](int ith, int nth) {
        const std::lock_guard<std::mutex> lock(mutex);
        seen.insert({ith, nth});
    });
    EXPECT_EQ(seen.size(), 8u) << "two sections of four";
    for (int ith = 0; ith < 4; ++ith) EXPECT_EQ(seen.count({ith, 4}), 2u);
}

TEST(team, never_uses_more_threads_than_tasks) {
    const Team team(8);
    int reported = 0;
    team.run(1, [&](int, int nth) { reported = nth; });
    EXPECT_EQ(reported, 1);
}

TEST(team, parallel_for_covers_each_item_once_for_any_size_and_grain) {
    for (int threads : {1, 2, 5}) {
        const Team team(threads);
        for (int64_t n : {0, 1, 2, 7, 64, 65537}) {
            for (int64_t grain : {1, 3, 1000}) {
                std::vector<std::atomic<int>> hits(static_cast<size_t>(n));
                team.parallel_for(n, grain, [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) hits[size_t(i)]++;
                });
                for (const auto & h : hits) ASSERT_EQ(h.load(), 1);
            }
        }
    }
}

TEST(team, parallel_chunks_covers_each_item_once) {
    const Team team(3);
    for (int64_t n : {0, 1, 10, 1001}) {
        std::vector<std::atomic<int>> hits(static_cast<size_t>(n));
        team.parallel_chunks(n, 7, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) hits[size_t(i)]++;
        });
        for (const auto & h : hits) ASSERT_EQ(h.load(), 1);
    }
}

TEST(team, asks_the_abort_callback_with_its_data) {
    bool stop = false;
    const Team team(
        1, [](void * data) { return *static_cast<bool *>(data); }, &stop);
    EXPECT_FALSE(team.aborted());
    stop = true;
    EXPECT_TRUE(team.aborted());
    EXPECT_FALSE(Team(1).aborted());
}

TEST(team, a_section_is_stopped_by_what_its_first_thread_is_told) {
    bool stop = false;
    const Team team(
        4, [](void * data) { return *static_cast<bool *>(data); }, &stop);
    SectionStop section(team);
    EXPECT_FALSE(section.asked(0));
    stop = true;
    EXPECT_FALSE(section.asked(1)) << "only the driving thread may ask";
    EXPECT_TRUE(section.asked(0));
    EXPECT_TRUE(section.asked(1));
    EXPECT_TRUE(section.asked());
}

} // namespace
} // namespace ggml::cpu
