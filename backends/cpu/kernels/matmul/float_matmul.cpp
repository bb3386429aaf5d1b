#include "backends/cpu/kernels/matmul/float_matmul.h"

#include "backends/cpu/kernels/matmul/float_dot.h"
#include "backends/cpu/kernels/matmul/onednn_gemm.h"
#include "runtime/base/log.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace ggml::cpu::matmul {
namespace {

// Up to this many rows the weights are read once per row by our own loop.
constexpr int64_t kDirectRows = 3;
// Products with fewer multiply-adds run in pieces, one thread each: a library call on the team costs more
// than it saves, and preparing a shape (about 0.3 ms) would dominate.
constexpr int64_t kTeamWork = int64_t(1) << 24;
// Weight rows of a piece. Pieces depend on the shape only: the library's result for a row may depend on them.
constexpr int64_t kPieceRows = 64;
// Converted weights of one library call on the team; half of a typical last-level cache share.
constexpr int64_t kPanelFloats = int64_t(2) << 20;

bool runs_on_team(int64_t rows, int64_t cols, int64_t m) {
    return m > kDirectRows && double(rows) * double(cols) * double(m) >= double(kTeamWork);
}

int64_t panel_rows(int64_t rows, int64_t cols) {
    const int64_t fit = kPanelFloats / std::max<int64_t>(cols, 1) / kPieceRows * kPieceRows;
    return std::min(rows, std::max(fit, kPieceRows));
}

void convert_rows(const Weights & w, int64_t first, int64_t n, float * out) {
    for (int64_t i = 0; i < n; ++i)
        read_floats(w.type, w.elem_stride, w.row(first + i), 0, w.cols, out + i * w.cols);
}

Gemm gemm_of(const FloatProduct & p, int64_t first, int64_t n, const float * w, int64_t ldw) {
    return {p.m, n, p.weights.cols, p.x, p.ldx, w, ldw, p.y + first, p.ldy};
}

// A leading dimension the library accepts, even where there is only one row.
int64_t float_stride(const Weights & w) {
    return std::max<int64_t>(int64_t(w.row_stride / sizeof(float)), w.cols);
}

// Weight rows [first, first + n) of a product, on the calling thread. `converted` holds a piece.
ggml_status piece(const FloatProduct & p, int64_t first, int64_t n, bool direct, float * converted) {
    const Weights & w = p.weights;
    if (p.m <= kDirectRows) {
        ggml_type type = w.type;
        const void * rows = w.row(first);
        size_t stride = w.row_stride;
        if (w.elem_stride != ggml_type_size(w.type) || w.row_stride % w.elem_stride != 0) {
            convert_rows(w, first, n, converted);
            type = GGML_TYPE_F32, rows = converted, stride = size_t(w.cols) * sizeof(float);
        }
        for (int64_t m = 0; m < p.m; ++m) {
            dot_rows(type, rows, stride, n, w.cols, p.x + m * p.ldx, p.y + m * p.ldy + first);
        }
        return GGML_STATUS_SUCCESS;
    }
    if (direct)
        return gemm_here(
            gemm_of(p, first, n, reinterpret_cast<const float *>(w.row(first)), float_stride(w)));
    convert_rows(w, first, n, converted);
    return gemm_here(gemm_of(p, first, n, converted, w.cols));
}

size_t piece_bytes(int64_t cols) { return slice_bytes(saturating_mul(kPieceRows, cols, sizeof(float))); }

ggml_status run_pieces(const Team & team, int64_t n, const std::function<FloatProduct(int64_t)> & product_at,
                       bool direct, std::byte * scratch) {
    const FloatProduct shape = product_at(0);
    const int64_t rows = shape.weights.rows, cols = shape.weights.cols;
    const int64_t per_product = ceil_div(rows, kPieceRows), n_pieces = n * per_product;
    const int64_t work = std::max<int64_t>(kPieceRows * cols * shape.m, 1);
    const int64_t grain = ceil_div(kParallelGrain * 4, work);
    std::atomic<int> failure{GGML_STATUS_SUCCESS};
    const auto range = [&](int64_t begin, int64_t end, float * converted) {
        for (int64_t i = begin; i < end; ++i) {
            const FloatProduct p = product_at(i / per_product);
            const int64_t first = i % per_product * kPieceRows;
            const ggml_status status = piece(p, first, std::min(kPieceRows, rows - first), direct, converted);
            if (status != GGML_STATUS_SUCCESS) failure = status;
        }
    };
    team.run(int(std::min<int64_t>(ceil_div(n_pieces, grain), team.n_threads())), [&](int ith, int nth) {
        range(n_pieces * ith / nth, n_pieces * (ith + 1) / nth,
              reinterpret_cast<float *>(scratch + size_t(ith) * piece_bytes(cols)));
    });
    return ggml_status(failure.load());
}

ggml_status run_on_team(const Team & team, const FloatProduct & p, bool direct, float * panel) {
    const Weights & w = p.weights;
    if (direct) {
        return gemm_team(gemm_of(p, 0, w.rows, reinterpret_cast<const float *>(w.data), float_stride(w)),
                         team.n_threads());
    }
    const int64_t step = panel_rows(w.rows, w.cols);
    for (int64_t first = 0; first < w.rows; first += step) {
        if (team.aborted()) return GGML_STATUS_ABORTED;
        const int64_t n = std::min(step, w.rows - first);
        team.parallel_for(n, ceil_div(kParallelGrain, w.cols), [&](int64_t begin, int64_t end) {
            convert_rows(w, first + begin, end - begin, panel + begin * w.cols);
        });
        const ggml_status status = gemm_team(gemm_of(p, first, n, panel, w.cols), team.n_threads());
        if (status != GGML_STATUS_SUCCESS) return status;
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace

bool float_weights_direct(const Weights & w) {
    return w.type == GGML_TYPE_F32 && w.elem_stride == sizeof(float) && w.row_stride % sizeof(float) == 0 &&
           (w.rows == 1 || w.row_stride >= size_t(w.cols) * sizeof(float));
}

size_t float_scratch(bool direct, int64_t rows, int64_t cols, int64_t m, int n_threads) {
    if (direct) return 0;
    if (runs_on_team(rows, cols, m))
        return slice_bytes(saturating_mul(panel_rows(rows, cols), cols, sizeof(float)));
    return saturating_mul(piece_bytes(cols), n_threads);
}

ggml_status float_products(const Team & team, int64_t n,
                           const std::function<FloatProduct(int64_t)> & product_at,
                           std::span<std::byte> scratch) {
    if (n == 0) return GGML_STATUS_SUCCESS;
    const FloatProduct shape = product_at(0);
    const Weights & w = shape.weights;
    const bool direct = float_weights_direct(w);
    if (scratch.size() < float_scratch(direct, w.rows, w.cols, shape.m, team.n_threads())) {
        GGML_LOG_ERROR("CPU: product of %lld rows got %zu bytes of scratch\n", (long long)shape.m,
                       scratch.size());
        return GGML_STATUS_FAILED;
    }
    if (!runs_on_team(w.rows, w.cols, shape.m))
        return run_pieces(team, n, product_at, direct, scratch.data());
    for (int64_t i = 0; i < n; ++i) {
        if (team.aborted()) return GGML_STATUS_ABORTED;
        const ggml_status status =
            run_on_team(team, product_at(i), direct, reinterpret_cast<float *>(scratch.data()));
        if (status != GGML_STATUS_SUCCESS) return status;
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu::matmul
