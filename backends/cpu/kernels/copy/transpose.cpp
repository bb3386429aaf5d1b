#include "backends/cpu/kernels/copy/transpose.h"

#include "backends/cpu/kernels/copy/element.h"

namespace ggml::cpu {
namespace {

// 128-bit vectors in the compiler's own notation, which every baseline instruction set has: tiles are in
// cache, and the shuffles of wider vectors, which cross lanes, would cost what they save.
using U16x8 = uint16_t __attribute__((vector_size(16)));
using U32x4 = uint32_t __attribute__((vector_size(16)));
using U64x2 = uint64_t __attribute__((vector_size(16)));

U16x8 interleave_low(U16x8 a, U16x8 b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
U16x8 interleave_high(U16x8 a, U16x8 b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
U32x4 interleave_low(U32x4 a, U32x4 b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
U32x4 interleave_high(U32x4 a, U32x4 b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
U64x2 interleave_low(U64x2 a, U64x2 b) { return __builtin_shufflevector(a, b, 0, 2); }
U64x2 interleave_high(U64x2 a, U64x2 b) { return __builtin_shufflevector(a, b, 1, 3); }

template <class T>
void transpose_scalar(const char * in, size_t in_stride, char * out, size_t out_stride, int64_t row,
                      int64_t rows, int64_t col, int64_t cols) {
    for (int64_t r = row; r < rows; ++r) {
        for (int64_t c = col; c < cols; ++c) {
            const T value = load_element<T>(in + size_t(r) * in_stride + size_t(c) * sizeof(T));
            store_element(out + size_t(c) * out_stride + size_t(r) * sizeof(T), value);
        }
    }
}

struct Block64 {
    using T = uint64_t;
    static constexpr int64_t kSide = 2;
    static void run(const char * in, size_t in_stride, char * out, size_t out_stride) {
        const auto a = load_element<U64x2>(in), b = load_element<U64x2>(in + in_stride);
        store_element(out, interleave_low(a, b));
        store_element(out + out_stride, interleave_high(a, b));
    }
};

struct Block32 {
    using T = uint32_t;
    static constexpr int64_t kSide = 4;
    static void run(const char * in, size_t in_stride, char * out, size_t out_stride) {
        transpose(load_element<U32x4>(in), load_element<U32x4>(in + in_stride),
                  load_element<U32x4>(in + 2 * in_stride), load_element<U32x4>(in + 3 * in_stride), out,
                  out_stride);
    }
    // Pairs of 32-bit units, then pairs of pairs.
    static void transpose(U32x4 a, U32x4 b, U32x4 c, U32x4 d, char * out, size_t out_stride) {
        const U64x2 ab_low = U64x2(interleave_low(a, b)), ab_high = U64x2(interleave_high(a, b));
        const U64x2 cd_low = U64x2(interleave_low(c, d)), cd_high = U64x2(interleave_high(c, d));
        store_element(out, interleave_low(ab_low, cd_low));
        store_element(out + out_stride, interleave_high(ab_low, cd_low));
        store_element(out + 2 * out_stride, interleave_low(ab_high, cd_high));
        store_element(out + 3 * out_stride, interleave_high(ab_high, cd_high));
    }
};

// Eight rows of eight: pairs of rows are interleaved, which leaves two 4 x 4 problems of 32-bit units.
struct Block16 {
    using T = uint16_t;
    static constexpr int64_t kSide = 8;
    static void run(const char * in, size_t in_stride, char * out, size_t out_stride) {
        U32x4 low[4], high[4];
        for (size_t i = 0; i < 4; ++i) {
            const auto a = load_element<U16x8>(in + 2 * i * in_stride);
            const auto b = load_element<U16x8>(in + (2 * i + 1) * in_stride);
            low[i] = U32x4(interleave_low(a, b));
            high[i] = U32x4(interleave_high(a, b));
        }
        Block32::transpose(low[0], low[1], low[2], low[3], out, out_stride);
        Block32::transpose(high[0], high[1], high[2], high[3], out + 4 * out_stride, out_stride);
    }
};

template <class Block>
void transpose_blocks(const char * in, size_t in_stride, char * out, size_t out_stride, int64_t rows,
                      int64_t cols) {
    using T = typename Block::T;
    constexpr int64_t kSide = Block::kSide;
    const int64_t whole_rows = rows - rows % kSide, whole_cols = cols - cols % kSide;
    for (int64_t r = 0; r < whole_rows; r += kSide) {
        for (int64_t c = 0; c < whole_cols; c += kSide) {
            Block::run(in + size_t(r) * in_stride + size_t(c) * sizeof(T), in_stride,
                       out + size_t(c) * out_stride + size_t(r) * sizeof(T), out_stride);
        }
    }
    transpose_scalar<T>(in, in_stride, out, out_stride, whole_rows, rows, 0, cols);
    transpose_scalar<T>(in, in_stride, out, out_stride, 0, whole_rows, whole_cols, cols);
}

} // namespace

void transpose_tile(size_t unit, const char * in, size_t in_stride, char * out, size_t out_stride,
                    int64_t rows, int64_t cols) {
    switch (unit) {
    case 1: return transpose_scalar<uint8_t>(in, in_stride, out, out_stride, 0, rows, 0, cols);
    case 2: return transpose_blocks<Block16>(in, in_stride, out, out_stride, rows, cols);
    case 4: return transpose_blocks<Block32>(in, in_stride, out, out_stride, rows, cols);
    case 8: return transpose_blocks<Block64>(in, in_stride, out, out_stride, rows, cols);
    default: GGML_ABORT("no transposition of %d-byte units", int(unit));
    }
}

} // namespace ggml::cpu
