#include "bench/support/ceilings.h"

#include "bench/support/peaks.h"

namespace bench {

struct Ceilings::Team {
    ggml::cpu::Team team;
};

Ceilings::Ceilings(int n_threads) : team_(new Team{ggml::cpu::Team(n_threads)}) {}
Ceilings::~Ceilings() = default;

Candidate Ceilings::fma(double milliseconds) const { return fma_peak(team_->team, milliseconds); }
Candidate Ceilings::int8_dot(double milliseconds) const { return int8_dot_peak(team_->team, milliseconds); }
Candidate Ceilings::read(std::span<const std::byte> memory) const { return read_memory(team_->team, memory); }

} // namespace bench
