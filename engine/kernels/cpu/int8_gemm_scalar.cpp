// Plain C++: every processor, and what the others are checked against.
#include "kernels/cpu/int8_gemm.h"

namespace sd {
namespace {

#include "kernels/cpu/int8_gemm_pack_inl.h"

constexpr int kRows = 4, kColumns = 16;

// Sums wrap modulo 2^32 on the way, so they are added unsigned.
void tile(int32_t * sums, const uint8_t * panel, const void * packed, const int32_t * start, int m,
          int64_t steps) {
    const int8_t * acts = static_cast<const int8_t *>(packed);
    for (int r = 0; r < m; ++r) {
        uint32_t acc[kColumns] = {};
        for (int64_t s = 0; s < steps; ++s) {
            const int16_t a = acts[s * m + r];
            for (int c = 0; c < kColumns; ++c)
                acc[c] += uint32_t(a * int16_t(int8_t(panel[s * kColumns + c])));
        }
        for (int c = 0; c < kColumns; ++c) sums[r * kColumns + c] = int32_t(acc[c] + uint32_t(start[r]));
    }
}

void dots(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, int n, const void * rows,
          size_t row_bytes, const int32_t * start, int m, int64_t k) {
    for (int c = 0; c < n; ++c) {
        for (int r = 0; r < m; ++r) {
            const int8_t * x = static_cast<const int8_t *>(rows) + size_t(r) * row_bytes;
            uint32_t sum = uint32_t(start[r]);
            for (int64_t i = 0; i < k; ++i) sum += uint32_t(x[i] * w[c * stride + i]);
            sums[r * sums_stride + c] = int32_t(sum);
        }
    }
}

} // namespace

const Int8Gemm & int8_gemm_scalar() {
    static constexpr Int8Gemm gemm = {kRows,
                                      kColumns,
                                      1,
                                      1,
                                      0,
                                      1,
                                      pack_panel_plain<kColumns, 1, 0>,
                                      pack_rows_plain<int8_t, 1, 0>,
                                      tile,
                                      scale_row_plain,
                                      prepare_row_plain<int8_t, 1, 0>,
                                      dots};
    return gemm;
}

} // namespace sd
