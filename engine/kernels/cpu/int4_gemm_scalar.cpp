// Plain C++: every processor, and what the others are checked against. Tiles are those of INT8 products.
#include "kernels/cpu/int4_gemm.h"

namespace sd {
namespace {

// Two's complement: 8 to 15 stand for -8 to -1.
int8_t weight_at(const int8_t * row, int64_t k) {
    const int nibble = (uint8_t(row[k / 2]) >> (k % 2 * 4)) & 15;
    return int8_t((nibble ^ 8) - 8);
}

void pack_panel(uint8_t * panel, const int8_t * w, int64_t stride, int n, int64_t k) {
    const int columns = int8_gemm_scalar().columns;
    for (int64_t i = 0; i < k; ++i) {
        for (int c = 0; c < n; ++c) panel[i * columns + c] = uint8_t(weight_at(w + c * stride, i));
    }
}

void dots(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, int n, const void * rows,
          size_t row_bytes, const int32_t * start, int m, int64_t k) {
    for (int c = 0; c < n; ++c) {
        for (int r = 0; r < m; ++r) {
            const int8_t * x = static_cast<const int8_t *>(rows) + size_t(r) * row_bytes;
            uint32_t sum = uint32_t(start[r]);
            for (int64_t i = 0; i < k; ++i) sum += uint32_t(x[i] * weight_at(w + c * stride, i));
            sums[r * sums_stride + c] = int32_t(sum);
        }
    }
}

} // namespace

const Int8Gemm & int4_gemm_scalar() {
    static const Int8Gemm gemm = [] {
        Int8Gemm g = int8_gemm_scalar();
        g.pack_panel = pack_panel;
        g.dots = dots;
        return g;
    }();
    return gemm;
}

} // namespace sd
