// Products of quantized weights with rows of activations through integer arithmetic. Activations are
// quantized per 32 elements (quant_activations.h), integer sums are exact, and the float sums over blocks run
// in an order that depends on the shape and the instruction set only, never on the number of threads.
//
// Few rows are multiplied straight from the stored blocks, at the speed of reading them. More rows go through
// panels: 32 weight rows by up to 2048 elements are opened to bytes in a thread's scratch, used for every
// activation row, and forgotten. Nothing bigger than a panel group is ever converted.
#pragma once

#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/matmul/operands.h"

namespace ggml::cpu::matmul {

// Scratch for products with at most `max_rows` activation rows.
size_t quant_scratch(int64_t cols, int64_t max_rows, int n_threads);

// y[n] = dot(weights row n, x) for every pair. Fails only when scratch is smaller than quant_scratch says, or
// with ABORTED when the team's abort callback says so between phases.
ggml_status quant_product(const Team & team, const Weights & weights, std::span<const RowPair> pairs,
                          const RowFormat & format, std::span<std::byte> scratch);

} // namespace ggml::cpu::matmul
