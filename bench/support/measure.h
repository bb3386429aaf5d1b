// Timing for the benchmarks: candidates run in turn, round after round, so that a disturbance of the machine
// hits all of them; figures are medians over rounds. Results are ratios measured in one run, never times from
// another.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace bench {

// One thing to time. Runs shorter than about a millisecond should repeat inside `run` and say so in `work`.
struct Candidate {
    std::string name;
    double work; // operations or bytes of one run
    std::function<void()> run;
};

struct Timings {
    std::vector<std::vector<double>> seconds; // [candidate][round]
    std::vector<double> work;                 // [candidate]

    double median_seconds(size_t candidate) const;
    // Work per second.
    double rate(size_t candidate) const;
    // Median over rounds of rate(a) / rate(b), each pair from the same round.
    double rate_ratio(size_t a, size_t b) const;
};

// One warm-up run each, then `rounds` rounds.
Timings interleave(std::span<const Candidate> candidates, int rounds);

double median(std::vector<double> values);
double now_seconds();

// Seconds one call takes.
double seconds(const std::function<void()> & run);

class Samples {
  public:
    void add(double value) { values_.push_back(value); }
    double median() const { return bench::median(values_); }

  private:
    std::vector<double> values_;
};

// A figure of the benchmark; the lines "ratio NAME VALUE (aim AIM)" are printed together at the end.
class Report {
  public:
    ~Report();
    Report() = default;
    Report(const Report &) = delete;
    Report & operator=(const Report &) = delete;
    void ratio(const std::string & name, double value, double aim);

  private:
    std::vector<std::string> lines_;
};

} // namespace bench
