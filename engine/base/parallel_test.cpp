#include "base/parallel.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <vector>

namespace sd {
namespace {

TEST(parallel, each_part_is_done_once_and_reported) {
    for (const int threads : {0, 1, 2, 7}) {
        for (const int64_t parts : {0, 1, 3, 100}) {
            std::vector<std::atomic<int>> times(static_cast<size_t>(parts));
            uint64_t done = 0;
            parallel_parts(parts, {.threads = threads, .progress = [&](uint64_t more) { done += more; }},
                           [&](int64_t i) {
                               ++times[size_t(i)];
                               return uint64_t(i);
                           });
            for (const auto & t : times) EXPECT_EQ(t, 1);
            EXPECT_EQ(done, uint64_t(parts * (parts - 1) / 2));
        }
    }
}

TEST(parallel, an_exception_of_any_part_reaches_the_caller_and_stops_the_rest) {
    for (const int threads : {1, 4}) {
        std::atomic<int> done = 0;
        EXPECT_THROW(parallel_parts(1000000, {.threads = threads},
                                    [&](int64_t i) {
                                        if (i == 10) throw Error("no");
                                        return uint64_t(++done);
                                    }),
                     Error);
        EXPECT_LT(done, 1000000);
    }
}

TEST(parallel, nothing_starts_after_a_cancel) {
    const std::atomic<bool> cancel = true;
    int done = 0;
    try {
        parallel_parts(5, {.threads = 1, .cancel = &cancel}, [&](int64_t) { return uint64_t(++done); });
        ADD_FAILURE() << "not cancelled";
    } catch (const Error & error) {
        EXPECT_EQ(error.parts().code, "E_CANCELLED");
    }
    EXPECT_EQ(done, 0);
}

TEST(parallel, an_exception_of_progress_reaches_the_caller) {
    const ParallelOptions options = {.threads = 2, .progress = [](uint64_t) { throw Error("full"); }};
    EXPECT_THROW(parallel_parts(5, options, [](int64_t) { return uint64_t(1); }), Error);
}

} // namespace
} // namespace sd
