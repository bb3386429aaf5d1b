// Exact products of INT8 matrices, in the pieces operators are made of: packing of a weight panel, packing of
// activation rows, the tile, the scaling of its sums; and dot products for a few rows that read the weights
// where they lie. One table per instruction set; all give the same bits.
//
// A tile is `rows` activation rows times `columns` weight rows over all of K. Its sums are exact modulo 2^32,
// hence exact for K <= kInt8MaxK. Instructions that multiply unsigned by signed bytes get weights offset by
// 128 (`flip` is applied to weight bytes, in the panel or in registers), and `start` takes 128 times the
// activations' sum away beforehand; all of -128..127 is legal on both sides.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sd {

// 128 * 128 * K < 2^31.
constexpr int64_t kInt8MaxK = 131071;

constexpr int kInt8MaxTileRows = 8, kInt8MaxColumns = 64;

struct Int8Gemm {
    int rows, columns;
    int step;      // K elements that are together in panels and packed rows; K is padded to a multiple
    int act_bytes; // of a packed activation
    uint8_t flip;  // what weight bytes are xored with in a panel
    int row_pad;   // K of rows for `dots` is padded to a multiple

    // Weight rows w, w + stride, ... n of them, into a panel of columns * padded K bytes, 64-byte aligned:
    // [K / step][columns][step]. Columns from n on and the padding of K hold anything.
    void (*pack_panel)(uint8_t * panel, const int8_t * w, int64_t stride, int n, int64_t k);

    // m rows of codes into [K / step][m][step] and the start value of each row's sums.
    void (*pack_rows)(void * packed, int32_t * start, const int8_t * codes, int64_t stride, int m, int64_t k);

    // sums[m][columns], 64-byte aligned, of packed rows and a panel; steps = padded K / step.
    void (*tile)(int32_t * sums, const uint8_t * panel, const void * packed, const int32_t * start, int m,
                 int64_t steps);

    // y[i] = ((float(sums[i]) * x_scale) * w_scale[i]) + bias[i], each operation rounded; NULL leaves one
    // out.
    void (*scale_row)(float * y, const int32_t * sums, int n, float x_scale, const float * w_scale,
                      const float * bias);

    // One row for `dots`: padded K elements of act_bytes, 64-byte aligned, and its start value.
    void (*prepare_row)(void * row, int32_t * start, const int8_t * codes, int64_t k);

    // sums[r * sums_stride + c] of m <= 4 prepared rows, row_bytes apart, and n weight rows of which nothing
    // but their k bytes is read.
    void (*dots)(int32_t * sums, int64_t sums_stride, const int8_t * w, int64_t stride, int n,
                 const void * rows, size_t row_bytes, const int32_t * start, int m, int64_t k);
};

constexpr int kInt8DotRows = 4;

inline int64_t int8_padded(int64_t k, int step) { return (k + step - 1) / step * step; }
inline size_t int8_panel_bytes(const Int8Gemm & gemm, int64_t k) {
    return size_t(gemm.columns) * size_t(int8_padded(k, gemm.step));
}

// Those of other architectures do not exist.
const Int8Gemm & int8_gemm_avx512vnni();
const Int8Gemm & int8_gemm_avxvnni();
const Int8Gemm & int8_gemm_avx2();
const Int8Gemm & int8_gemm_neon_dotprod();
const Int8Gemm & int8_gemm_scalar();

} // namespace sd
