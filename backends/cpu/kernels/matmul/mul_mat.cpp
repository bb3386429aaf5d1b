#include "backends/cpu/kernels/matmul/float_matmul.h"
#include "backends/cpu/kernels/matmul/matmul.h"
#include "backends/cpu/kernels/matmul/quant_matmul.h"
#include "runtime/tensor/layout.h"

#include <algorithm>
#include <cstring>

namespace ggml::cpu::matmul {
namespace {

// Where rows of src1 lie once they are rows of floats: where they are, or in scratch.
struct Activations {
    bool direct;
    size_t nb[4];
};

Activations activations_of(const ggml_tensor * b) {
    const bool rows = b->nb[1] % sizeof(float) == 0 && b->nb[2] % sizeof(float) == 0 &&
                      b->nb[3] % sizeof(float) == 0 &&
                      (b->ne[1] == 1 || b->nb[1] >= size_t(b->ne[0]) * sizeof(float));
    if (b->type == GGML_TYPE_F32 && b->nb[0] == sizeof(float) && rows) {
        // With a single row its stride is free; the library wants one that holds a row.
        return {true, {b->nb[0], std::max(b->nb[1], size_t(b->ne[0]) * sizeof(float)), b->nb[2], b->nb[3]}};
    }
    Activations x{false, {sizeof(float)}};
    for (int i = 1; i < 4; ++i) x.nb[i] = x.nb[i - 1] * size_t(b->ne[i - 1]);
    return x;
}

// How many products of how many rows. Rows that share a weight matrix and lie evenly become one product.
struct Batches {
    int64_t n2, n3;       // products
    int64_t step2, step3; // src1 coordinates per product
    int64_t m;            // rows of each
};

Batches batches_of(const ggml_tensor * dst, const Activations & x) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    const int64_t r2 = b->ne[2] / a->ne[2], r3 = b->ne[3] / a->ne[3];
    const bool even2 = x.nb[2] == size_t(b->ne[1]) * x.nb[1] && dst->nb[2] == size_t(dst->ne[1]) * dst->nb[1];
    const bool even3 = x.nb[3] == size_t(b->ne[2]) * x.nb[2] && dst->nb[3] == size_t(dst->ne[2]) * dst->nb[2];
    if (even2 && even3 && a->ne[2] == 1) return {1, a->ne[3], b->ne[2], r3, b->ne[1] * b->ne[2] * r3};
    if (even2) return {a->ne[2], b->ne[3], r2, 1, b->ne[1] * r2};
    return {b->ne[2], b->ne[3], 1, 1, b->ne[1]};
}

size_t converted_bytes(const ggml_tensor * b, const Activations & x) {
    return x.direct ? 0 : slice_bytes(saturating_mul(ggml_nelements(b), sizeof(float)));
}

// All rows of src1 as contiguous floats.
void convert(const Team & team, const ggml_tensor * b, float * out) {
    const int64_t cols = b->ne[0];
    team.parallel_for(ggml_nrows(b), ceil_div(kParallelGrain, cols), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            const char * row = static_cast<const char *>(b->data) + row_offset(b, row_index(b, r));
            read_floats(b->type, b->nb[0], row, 0, cols, out + r * cols);
        }
    });
}

ggml_status mul_mat_float(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    const Activations x = activations_of(b);
    const Batches batches = batches_of(dst, x);
    Scratch scratch(ctx.scratch);
    const char * data = static_cast<const char *>(b->data);
    if (!x.direct) {
        float * converted = scratch.take<float>(size_t(ggml_nelements(b)));
        if (converted == nullptr) return GGML_STATUS_FAILED;
        convert(ctx.team, b, converted);
        data = reinterpret_cast<const char *>(converted);
    }
    const int64_t r2 = b->ne[2] / a->ne[2], r3 = b->ne[3] / a->ne[3];
    const auto product_at = [&](int64_t i) {
        const int64_t i2 = i % batches.n2 * batches.step2, i3 = i / batches.n2 * batches.step3;
        FloatProduct p;
        p.weights = weights_of(a, i2 / r2, i3 / r3);
        p.x = reinterpret_cast<const float *>(data + size_t(i2) * x.nb[2] + size_t(i3) * x.nb[3]);
        p.ldx = int64_t(x.nb[1] / sizeof(float));
        p.m = batches.m;
        p.y = row_at<float>(dst, size_t(i2) * dst->nb[2] + size_t(i3) * dst->nb[3]);
        p.ldy = std::max<int64_t>(int64_t(dst->nb[1] / sizeof(float)), dst->ne[0]);
        return p;
    };
    return float_products(ctx.team, batches.n2 * batches.n3, product_at, scratch.rest());
}

// Activation rows that meet one weight matrix.
int64_t rows_per_weights(const ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    return b->ne[1] * (b->ne[2] / a->ne[2]) * (b->ne[3] / a->ne[3]);
}

ggml_status mul_mat_quant(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    const int64_t m = rows_per_weights(dst), r2 = b->ne[2] / a->ne[2], r3 = b->ne[3] / a->ne[3];
    Scratch scratch(ctx.scratch);
    RowPair * pairs = scratch.take<RowPair>(size_t(m));
    if (pairs == nullptr) return GGML_STATUS_FAILED;
    const RowFormat format{b->type, b->nb[0]};
    for (int64_t a3 = 0; a3 < a->ne[3]; ++a3) {
        for (int64_t a2 = 0; a2 < a->ne[2]; ++a2) {
            for (int64_t i = 0; i < m; ++i) {
                const RowIndex at{i % b->ne[1], a2 * r2 + i / b->ne[1] % r2, a3 * r3 + i / b->ne[1] / r2};
                pairs[i] = {row_at<char>(b, row_offset(b, at)), row_at<float>(dst, row_offset(dst, at))};
            }
            const ggml_status status =
                quant_product(ctx.team, weights_of(a, a2, a3), {pairs, size_t(m)}, format, scratch.rest());
            if (status != GGML_STATUS_SUCCESS) return status;
            if (ctx.team.aborted()) return GGML_STATUS_ABORTED;
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace

size_t mul_mat_scratch(const ggml_tensor * dst, int n_threads) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    if (ggml_is_empty(a) || ggml_is_empty(b)) return 0;
    if (ggml_is_quantized(a->type)) {
        const int64_t m = rows_per_weights(dst);
        return saturating_add(slice_bytes(saturating_mul(m, sizeof(RowPair))),
                              quant_scratch(a->ne[0], m, n_threads));
    }
    const Activations x = activations_of(b);
    const bool direct = float_weights_direct({a->type, nullptr, a->nb[1], a->nb[0], a->ne[1], a->ne[0]});
    return saturating_add(converted_bytes(b, x),
                          float_scratch(direct, a->ne[1], a->ne[0], batches_of(dst, x).m, n_threads));
}

ggml_status mul_mat(const KernelContext & ctx, ggml_tensor * dst) {
    if (dst->src[0]->ne[0] == 0) {
        // Sums over nothing.
        for (int64_t r = 0; r < ggml_nrows(dst); ++r) {
            std::memset(row_at<char>(dst, row_offset(dst, row_index(dst, r))), 0,
                        size_t(dst->ne[0]) * sizeof(float));
        }
        return GGML_STATUS_SUCCESS;
    }
    return ggml_is_quantized(dst->src[0]->type) ? mul_mat_quant(ctx, dst) : mul_mat_float(ctx, dst);
}

} // namespace ggml::cpu::matmul
