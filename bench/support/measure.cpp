#include "bench/support/measure.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace bench {

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds(const std::function<void()> & run) {
    const double start = now_seconds();
    run();
    return now_seconds() - start;
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double Timings::median_seconds(size_t candidate) const { return median(seconds[candidate]); }

double Timings::rate(size_t candidate) const { return work[candidate] / median_seconds(candidate); }

double Timings::rate_ratio(size_t a, size_t b) const {
    std::vector<double> ratios;
    for (size_t i = 0; i < seconds[a].size(); ++i) {
        ratios.push_back((work[a] / seconds[a][i]) / (work[b] / seconds[b][i]));
    }
    return median(ratios);
}

Timings interleave(std::span<const Candidate> candidates, int rounds) {
    Timings timings;
    timings.seconds.resize(candidates.size());
    for (const Candidate & candidate : candidates) {
        timings.work.push_back(candidate.work);
        candidate.run();
    }
    for (int round = 0; round < rounds; ++round) {
        for (size_t i = 0; i < candidates.size(); ++i) {
            const double start = now_seconds();
            candidates[i].run();
            timings.seconds[i].push_back(now_seconds() - start);
        }
    }
    return timings;
}

void Report::ratio(const std::string & name, double value, double aim) {
    char line[200];
    std::snprintf(line, sizeof line, "ratio %s %.3g (aim %.3g)", name.c_str(), value, aim);
    lines_.push_back(line);
}

Report::~Report() {
    for (const std::string & line : lines_) std::printf("%s\n", line.c_str());
}

} // namespace bench
