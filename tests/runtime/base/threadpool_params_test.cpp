#include "ggml.h"

#include <gtest/gtest.h>

namespace {

TEST(threadpool_params, default_asks_for_normal_threads_anywhere) {
    const ggml_threadpool_params p = ggml_threadpool_params_default(6);
    EXPECT_EQ(p.n_threads, 6);
    EXPECT_EQ(p.prio, GGML_SCHED_PRIO_NORMAL);
    EXPECT_EQ(p.poll, 50u);
    EXPECT_FALSE(p.strict_cpu);
    EXPECT_FALSE(p.paused);
    for (const bool core : p.cpumask) EXPECT_FALSE(core);
}

TEST(threadpool_params, match_compares_everything_but_the_paused_state) {
    const ggml_threadpool_params base = ggml_threadpool_params_default(4);
    const auto differs = [&](auto change) {
        ggml_threadpool_params other = base;
        change(other);
        return !ggml_threadpool_params_match(&base, &other);
    };
    EXPECT_FALSE(differs([](ggml_threadpool_params &) {}));
    EXPECT_FALSE(differs([](ggml_threadpool_params & p) { p.paused = true; }));
    EXPECT_TRUE(differs([](ggml_threadpool_params & p) { p.n_threads = 5; }));
    EXPECT_TRUE(differs([](ggml_threadpool_params & p) { p.prio = GGML_SCHED_PRIO_HIGH; }));
    EXPECT_TRUE(differs([](ggml_threadpool_params & p) { p.poll = 0; }));
    EXPECT_TRUE(differs([](ggml_threadpool_params & p) { p.strict_cpu = true; }));
    EXPECT_TRUE(differs([](ggml_threadpool_params & p) { p.cpumask[GGML_MAX_N_THREADS - 1] = true; }));
}

} // namespace
