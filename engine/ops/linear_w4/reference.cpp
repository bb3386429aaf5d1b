// The specification of sd.linear_w4_convrot.v1, one product at a time.
#include "kernels/cpu/e4m3.h"
#include "ops/linear_w4/schema.h"

namespace sd {
namespace {

int nibble_at(const int8_t * row, int64_t k) { return (uint8_t(row[k / 2]) >> (k % 2 * 4)) & 15; }

// Exact for any K.
float signed_sum(const LinearW4Operands & in, const int8_t * x, const int8_t * w) {
    int64_t sum = 0;
    for (int64_t i = 0; i < in.k; ++i) sum += int64_t(x[i]) * ((nibble_at(w, i) ^ 8) - 8);
    return float(sum);
}

// Rounded once.
float book_sum(const LinearW4Operands & in, const int8_t * x, const int8_t * w, const uint8_t * relative) {
    double sum = 0;
    for (int64_t g = 0; g < in.k / kBookGroup; ++g) {
        double of_group = 0;
        for (int64_t i = g * kBookGroup; i < (g + 1) * kBookGroup; ++i)
            of_group += double(in.codebook[nibble_at(w, i)]) * x[i];
        sum += double(e4m3_value(relative[g])) * of_group;
    }
    return float(sum);
}

} // namespace

ggml_status linear_w4_reference(ggml_tensor * node, void *) {
    const LinearW4Operands in(node);
    auto * y = static_cast<float *>(node->data);
    for (int64_t row = 0; row < in.rows; ++row) {
        const int8_t * x = in.codes + row * in.k;
        for (int64_t i = 0; i < in.n; ++i, ++y) {
            const int8_t * w = in.weight + i * (in.k / 2);
            *y = in.format == LinearW4Format::w4a4
                     ? signed_sum(in, x, w)
                     : book_sum(in, x, w, in.relative_scale + i * (in.k / kBookGroup));
            *y *= in.x_scale[row];
            *y *= in.scale[i];
            if (in.bias != nullptr) *y += in.bias[i];
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace sd
