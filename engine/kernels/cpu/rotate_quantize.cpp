#include "kernels/cpu/rotate_quantize.h"

#include "kernels/cpu/row_scale.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sd {

void rotate_quantize_scalar(const QuantizeRow & row) {
    rotate_scalar(row.x, row.k, row.group, row.scratch);
    uint32_t max_bits = 0;
    for (int64_t i = 0; i < row.k; ++i)
        max_bits = std::max(max_bits, std::bit_cast<uint32_t>(std::fabs(row.scratch[i])));
    const RowScale scale = RowScale::of(max_bits);
    *row.scale = scale.scale;
    // Zeros by a branch: 0 * NaN would not be 0.
    for (int64_t i = 0; i < row.k; ++i)
        row.codes[i] = scale.zero_codes ? 0 : int8_t(std::nearbyint(row.scratch[i] * scale.inverse));
}

} // namespace sd
