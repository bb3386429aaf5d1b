#include "kernels/cpu/book_gemm.h"
#include "kernels/cpu/e4m3.h"

namespace sd {
namespace {

constexpr int kRows = 4, kColumns = 16;

float weight_at(const BookWeights & w, int64_t row, int64_t k) {
    const int index = w.indices[row * (w.k / 2) + k / 2] >> (k % 2 * 4) & 15;
    return w.codebook[index] * kE4m3Values[w.relative[row * (w.k / 16) + k / 16]];
}

void pack_panel(float * panel, const BookWeights & w, int64_t first, int n, int64_t k0, int64_t k) {
    for (int64_t i = 0; i < k; ++i, panel += kColumns) {
        for (int c = 0; c < kColumns; ++c) panel[c] = c < n ? weight_at(w, first + c, k0 + i) : 0.0f;
    }
}

void tile(float * sums, const float * panel, const float * acts, int m, int64_t k) {
    for (int r = 0; r < m; ++r) {
        float acc[kColumns] = {};
        for (int64_t i = 0; i < k; ++i) {
            for (int c = 0; c < kColumns; ++c) acc[c] += acts[i * m + r] * panel[i * kColumns + c];
        }
        for (int c = 0; c < kColumns; ++c) sums[r * kColumns + c] = acc[c];
    }
}

void prepare_row(float * row, const int8_t * codes, int64_t k) {
    for (int64_t i = 0; i < k; ++i) row[i] = float(codes[i]);
}

void dots(float * sums, int64_t sums_stride, const BookWeights & w, int64_t first, int n, const float * rows,
          int64_t row_stride, int m) {
    for (int c = 0; c < n; ++c) {
        for (int r = 0; r < m; ++r) {
            float sum = 0;
            for (int64_t k = 0; k < w.k; ++k) sum += weight_at(w, first + c, k) * rows[r * row_stride + k];
            sums[r * sums_stride + c] = sum;
        }
    }
}

void add_row(float * y, const float * sums, int n) {
    for (int i = 0; i < n; ++i) y[i] += sums[i];
}

void scale_row(float * y, int n, float x_scale, const float * w_scale, const float * bias) {
    for (int i = 0; i < n; ++i) {
        y[i] = y[i] * x_scale * w_scale[i];
        if (bias != nullptr) y[i] += bias[i];
    }
}

} // namespace

const BookGemm & book_gemm_scalar() {
    static constexpr BookGemm gemm = {kRows,       kColumns, 1,       pack_panel, tile,
                                      prepare_row, dots,     add_row, scale_row};
    return gemm;
}

} // namespace sd
