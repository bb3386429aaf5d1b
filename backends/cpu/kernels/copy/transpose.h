// Transposition of small tiles, the inner part of copies whose source and destination run along different
// dimensions. Data is moved unchanged.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ggml::cpu {

// Unit sizes transpose_tile knows: 1, 2, 4, 8 bytes.
constexpr bool can_transpose(size_t unit) { return unit == 1 || unit == 2 || unit == 4 || unit == 8; }

// out[c][r] = in[r][c] for r < rows, c < cols. Rows of `in` are contiguous and in_stride bytes apart; rows of
// `out` are contiguous and out_stride bytes apart.
void transpose_tile(size_t unit, const char * in, size_t in_stride, char * out, size_t out_stride,
                    int64_t rows, int64_t cols);

} // namespace ggml::cpu
