// What the processor can do at most, measured: float multiply-adds, int8 dot products, reading memory. Each
// runs on the whole team with the widest instructions that the kernels may use.
#pragma once

#include "backends/cpu/team.h"
#include "bench/support/measure.h"

#include <cstddef>
#include <span>

namespace bench {

// About `milliseconds` of work per run on a 4 GHz core. Work counts a multiply-add as two operations.
Candidate fma_peak(const ggml::cpu::Team & team, double milliseconds);
Candidate int8_dot_peak(const ggml::cpu::Team & team, double milliseconds);

// Reads `memory` once per run, each thread its own part. Work is bytes.
Candidate read_memory(const ggml::cpu::Team & team, std::span<const std::byte> memory);

} // namespace bench
