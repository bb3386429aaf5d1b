#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernels/rope/plan.h"

#include <cmath>

namespace ggml::cpu {
namespace {

void rotate_row(ggml_tensor * dst, RowIndex r, const RopePairs & pairs, const RopeRate * rates,
                float magnitude) {
    const ggml_tensor * src = dst->src[0];
    const auto in = [&](int64_t i) { return row_at<char>(src, row_offset(src, r) + size_t(i) * src->nb[0]); };
    const auto out = [&](int64_t i) {
        return row_at<char>(dst, row_offset(dst, r) + size_t(i) * dst->nb[0]);
    };
    for (int64_t p = 0; p < pairs.pairs; ++p) {
        const int64_t i = pairs.first + p * pairs.stride, j = i + pairs.gap;
        const double angle = rope_position(dst, r.i2, rates[p].axis) * rates[p].rate;
        const float c = float(std::cos(angle)) * magnitude, s = float(std::sin(angle)) * magnitude;
        const float x0 = read_float(src->type, in(i)), x1 = read_float(src->type, in(j));
        write_float(dst->type, out(i), x0 * c - x1 * s);
        write_float(dst->type, out(j), x0 * s + x1 * c);
    }
}

} // namespace

ggml_status rope_reference_rows(ggml_tensor * dst, RopeRate * rates) {
    const ggml_tensor * src = dst->src[0];
    const RopePairs pairs = rope_pairs(dst);
    rope_rates(dst, rates);
    const float magnitude = rope_magnitude(dst);
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            // The rotated elements form one block, also where pairs are interleaved.
            if (i >= pairs.first && i < pairs.first + 2 * pairs.pairs) continue;
            const char * from = row_at<char>(src, row_offset(src, r) + size_t(i) * src->nb[0]);
            char * to = row_at<char>(dst, row_offset(dst, r) + size_t(i) * dst->nb[0]);
            if (from != to) std::memcpy(to, from, ggml_type_size(dst->type));
        }
        rotate_row(dst, r, pairs, rates, magnitude);
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
