// Times implementations and ceilings in turn, round after round, so that a disturbance of the machine hits
// all of them.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

namespace op_bench {

struct Samples {
    std::vector<double> seconds; // of one run; empty when there was no time for one
    double median() const;       // 0 when empty
};

// One run each first. Whoever took longer than `budget` seconds for it has this one sample; the others run in
// rounds until `budget` seconds for each are used up. Runs shorter than a millisecond repeat within a sample.
// Ends early, without a sample that was interrupted, once `stop` is true.
std::vector<Samples> time_in_turn(const std::vector<std::function<void()>> & candidates, double budget,
                                  const std::atomic<bool> & stop);

} // namespace op_bench
