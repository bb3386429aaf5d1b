// Sums of outer products. A result matrix is cut into pieces of columns; a thread converts its columns of
// src0 (some hundred rows at a time) and multiplies them with all of src1. Pieces depend on the shape only.
#include "backends/cpu/kernels/matmul/matmul.h"
#include "backends/cpu/kernels/matmul/onednn_gemm.h"
#include "backends/cpu/kernels/matmul/operands.h"
#include "runtime/tensor/layout.h"

#include <algorithm>
#include <atomic>

namespace ggml::cpu::matmul {
namespace {

constexpr int64_t kColumns = 256; // a multiple of every quantized block
constexpr int64_t kDepth = 256;   // a converted piece is 256 KiB: second-level cache
constexpr size_t kPieceBytes = size_t(kColumns * kDepth) * sizeof(float);

// [j][b] floats of matrix (i2, i3) of src1 in scratch.
size_t factors_bytes(const ggml_tensor * b) {
    return slice_bytes(saturating_mul(ggml_nelements(b), sizeof(float)));
}

struct Piece {
    int64_t first, n; // columns
    int64_t i2, i3;
};

ggml_status run_piece(ggml_tensor * dst, const float * factors, const Piece & piece, float * converted) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    const Weights w = weights_of(a, piece.i2 / (b->ne[2] / a->ne[2]), piece.i3 / (b->ne[3] / a->ne[3]));
    float * y =
        row_at<float>(dst, size_t(piece.i2) * dst->nb[2] + size_t(piece.i3) * dst->nb[3]) + piece.first;
    const int64_t ldy = std::max<int64_t>(int64_t(dst->nb[1] / sizeof(float)), piece.n);
    const int64_t m = b->ne[0];
    const float * matrix = factors + (piece.i3 * b->ne[2] + piece.i2) * m * b->ne[1];
    if (w.rows == 0) {
        for (int64_t i = 0; i < m; ++i) std::fill_n(y + i * ldy, piece.n, 0.0f);
    }
    for (int64_t j = 0; j < w.rows; j += kDepth) {
        const int64_t depth = std::min(kDepth, w.rows - j);
        for (int64_t r = 0; r < depth; ++r) {
            read_floats(w.type, w.elem_stride, w.row(j + r), piece.first, piece.n, converted + r * piece.n);
        }
        const Gemm g{m, piece.n, depth, matrix + j * m, m, converted, piece.n, y, ldy};
        const ggml_status status = gemm_outer_here(g, j > 0);
        if (status != GGML_STATUS_SUCCESS) return status;
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace

size_t out_prod_scratch(const ggml_tensor * dst, int n_threads) {
    return saturating_add(factors_bytes(dst->src[1]), saturating_mul(n_threads, kPieceBytes));
}

ggml_status out_prod(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * b = dst->src[1];
    Scratch scratch(ctx.scratch);
    float * factors = scratch.take<float>(size_t(ggml_nelements(b)));
    float * pieces = scratch.take<float>(size_t(ctx.team.n_threads()) * kPieceBytes / sizeof(float));
    if (factors == nullptr || pieces == nullptr) return GGML_STATUS_FAILED;
    if (!ggml_is_empty(b)) {
        ctx.team.parallel_for(
            ggml_nrows(b), ceil_div(kParallelGrain, b->ne[0]), [&](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; ++r) {
                    const char * row = row_at<char>(b, row_offset(b, row_index(b, r)));
                    read_floats(b->type, b->nb[0], row, 0, b->ne[0], factors + r * b->ne[0]);
                }
            });
    }
    const int64_t per_matrix = ceil_div(dst->ne[0], kColumns),
                  n_pieces = per_matrix * dst->ne[2] * dst->ne[3];
    std::atomic<int> failure{GGML_STATUS_SUCCESS};
    ctx.team.run(int(std::min<int64_t>(n_pieces, ctx.team.n_threads())), [&](int ith, int nth) {
        for (int64_t i = n_pieces * ith / nth; i < n_pieces * (ith + 1) / nth; ++i) {
            const int64_t first = i % per_matrix * kColumns, matrix = i / per_matrix;
            const Piece piece{first, std::min(kColumns, dst->ne[0] - first), matrix % dst->ne[2],
                              matrix / dst->ne[2]};
            const ggml_status status =
                run_piece(dst, factors, piece, pieces + size_t(ith) * kPieceBytes / sizeof(float));
            if (status != GGML_STATUS_SUCCESS) failure = status;
        }
    });
    return ggml_status(failure.load());
}

} // namespace ggml::cpu::matmul
