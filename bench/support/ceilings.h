// The peaks as plain functions to call, for programs that know nothing of the CPU backend's thread team.
#pragma once

#include "bench/support/measure.h"

#include <cstddef>
#include <memory>
#include <span>

namespace bench {

// On `n_threads` threads. Candidates use this object, which must live as long as they are run.
class Ceilings {
  public:
    explicit Ceilings(int n_threads);
    ~Ceilings();

    // As in peaks.h.
    Candidate fma(double milliseconds) const;
    Candidate int8_dot(double milliseconds) const;
    Candidate read(std::span<const std::byte> memory) const;

  private:
    struct Team;
    std::unique_ptr<Team> team_;
};

} // namespace bench
