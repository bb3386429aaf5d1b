// Sums of rows in double precision. Sixteen partial sums take elements i, i + 16, i + 32 ... each and are
// added in a fixed tree, so the result is the same on every instruction set; it depends on nothing but the
// values.
#pragma once

#include "ggml.h"

#include <cstddef>
#include <cstdint>

namespace ggml::cpu {

// Contiguous floats.
double sum_floats(const float * x, int64_t n);

// n elements of F32, F16 or BF16, `stride` bytes apart. Others than contiguous floats are summed in pieces.
double sum_run(ggml_type type, const char * p, size_t stride, int64_t n);

} // namespace ggml::cpu
