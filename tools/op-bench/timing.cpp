#include "tools/op-bench/timing.h"

#include "bench/support/measure.h"

#include <algorithm>
#include <cmath>

namespace op_bench {
namespace {

constexpr double kShortest = 1e-3;  // seconds of a sample: well above what reading the clock costs
constexpr int kMostRepeats = 10000; // a first run that took no time at all says nothing

struct Candidate {
    size_t number;
    int repeats;
};

} // namespace

double Samples::median() const { return bench::median(seconds); }

std::vector<Samples> time_in_turn(const std::vector<std::function<void()>> & candidates, double budget,
                                  const std::atomic<bool> & stop) {
    std::vector<Samples> samples(candidates.size());
    std::vector<Candidate> fast;
    for (size_t i = 0; i < candidates.size() && !stop; ++i) {
        const double first = bench::seconds(candidates[i]);
        if (stop) break;
        if (first > budget) {
            samples[i].seconds.push_back(first);
        } else {
            const double repeats = std::ceil(kShortest / std::max(first, kShortest / kMostRepeats));
            fast.push_back({i, int(repeats)});
        }
    }
    const double end = bench::now_seconds() + budget * double(fast.size());
    while (!fast.empty() && !stop) {
        for (const Candidate & c : fast) {
            const double seconds = bench::seconds([&] {
                for (int i = 0; i < c.repeats && !stop; ++i) candidates[c.number]();
            });
            if (stop) break;
            samples[c.number].seconds.push_back(seconds / c.repeats);
        }
        if (bench::now_seconds() >= end) break;
    }
    return samples;
}

} // namespace op_bench
