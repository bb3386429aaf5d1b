// Products of INT8 activations and 4-bit weights that are levels of a codebook, with a scale for each 16
// columns of a weight row, in the pieces operators are made of:
//
//   sum_k codebook[index[n][k]] * relative[n][k / 16] * x[k]
//
// float32 throughout, so the rate of multiply-adds is the ceiling. Sixteen levels in 16 bits would allow
// integer dot products at nearly twice that rate, but their error, 2^-16 of the largest level, is more than
// what the format leaves to the sums of a short row; the 21 bits that are enough take three products of
// bytes, which together with the scaling of each group gain less than a quarter.
//
// Many rows: weights become floats in a panel of some columns and a piece of K, and tiles add products one k
// after the other. Few rows: levels are looked up in registers and added by lanes. Errors are those of
// float32 sums in these orders; sums depend on the instruction set and on whether rows are few, never on the
// values of other rows, on other columns or on threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sd {

struct BookWeights {
    const uint8_t * indices;  // rows of k / 2 bytes, the even column of each two in the low nibble
    const uint8_t * relative; // rows of k / 16 E4M3FN bytes
    const float * codebook;   // 16 levels
    int64_t k;                // a multiple of 16
};

constexpr int kBookMaxTileRows = 6, kBookMaxColumns = 64, kBookDotRows = 4;

struct BookGemm {
    int rows, columns; // of a tile
    int row_pad;       // columns of rows for `dots` are padded to a multiple

    // Columns [k0, k0 + k) of weight rows [first, first + n) as floats [k][columns], 64-byte aligned; k0 and
    // k are multiples of 16. What is beyond n is zero.
    void (*pack_panel)(float * panel, const BookWeights & w, int64_t first, int n, int64_t k0, int64_t k);

    // sums[m][columns], 64-byte aligned, of a panel and of activations [k][m].
    void (*tile)(float * sums, const float * panel, const float * acts, int m, int64_t k);

    // One row for `dots`: floats of its k codes, padded, in an order of its own.
    void (*prepare_row)(float * row, const int8_t * codes, int64_t k);

    // sums[r * sums_stride + c] of m <= 4 prepared rows, row_stride apart, and weight rows [first, first +
    // n), of which nothing but their own bytes is read.
    void (*dots)(float * sums, int64_t sums_stride, const BookWeights & w, int64_t first, int n,
                 const float * rows, int64_t row_stride, int m);

    void (*add_row)(float * y, const float * sums, int n); // y += sums
    // y = (y * x_scale) * w_scale + bias, each operation rounded; bias may be NULL.
    void (*scale_row)(float * y, int n, float x_scale, const float * w_scale, const float * bias);
};

// The widest instructions GGML_CPU_ISA allows, chosen at each call.
const BookGemm & book_gemm_simd();
// Plain C++, for every processor.
const BookGemm & book_gemm_scalar();

} // namespace sd
