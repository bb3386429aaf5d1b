// Products of one activation row with rows of F32, F16 or BF16 weights, at the speed of reading the weights.
// All arithmetic in F32; the order of a row's sum depends on its length and the instruction set only.
#pragma once

#include "ggml.h"

#include <cstddef>
#include <cstdint>

namespace ggml::cpu::matmul {

// y[n] = dot(weights row n, x) for n in [0, rows). Rows are contiguous, row_stride bytes apart, at even
// addresses.
void dot_rows(ggml_type type, const void * weights, size_t row_stride, int64_t rows, int64_t cols,
              const float * x, float * y);

} // namespace ggml::cpu::matmul
