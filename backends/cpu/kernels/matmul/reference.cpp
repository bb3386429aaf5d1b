// The oracles: every result is one sum in double, in index order, of products of dequantized values. For
// quantized weights in MUL_MAT and MUL_MAT_ID the activations are rounded to int8 first, as
// quant_activations.h defines.
#include "backends/cpu/kernels/matmul/matmul.h"
#include "backends/cpu/kernels/matmul/operands.h"
#include "backends/cpu/kernels/matmul/quant_activations.h"

namespace ggml::cpu::matmul {
namespace {

double dot(const float * a, const float * b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += double(a[i]) * double(b[i]);
    return sum;
}

const char * row_of(const ggml_tensor * t, int64_t i1, int64_t i2, int64_t i3) {
    return static_cast<const char *>(t->data) + size_t(i1) * t->nb[1] + size_t(i2) * t->nb[2] +
           size_t(i3) * t->nb[3];
}

float * result_at(ggml_tensor * dst, int64_t i1, int64_t i2, int64_t i3) {
    return reinterpret_cast<float *>(const_cast<char *>(row_of(dst, i1, i2, i3)));
}

// A row of src1 as the product sees it.
void read_activations(const ggml_tensor * dst, const char * row, float * x) {
    const ggml_tensor * b = dst->src[1];
    read_floats(b->type, b->nb[0], row, 0, b->ne[0], x);
    if (!ggml_is_quantized(dst->src[0]->type)) return;
    const int shared = shared_blocks(dst->src[0]->type);
    for (int64_t k = 0; k < b->ne[0]; k += shared * kBlock) {
        ActBlock blocks[kSuperBlock / kBlock];
        quantize_act_blocks(x + k, shared, blocks, 1);
        for (int i = 0; i < shared * kBlock; ++i)
            x[k + i] = blocks[i / kBlock].d * float(blocks[i / kBlock].q[i % kBlock]);
    }
}

// One row of results: all rows of weight matrix (i2, i3) times x.
void product_row(const ggml_tensor * a, int64_t i2, int64_t i3, const float * x, float * w, float * y) {
    const Weights weights = weights_of(a, i2, i3);
    for (int64_t n = 0; n < weights.rows; ++n) {
        read_floats(weights.type, weights.elem_stride, weights.row(n), 0, weights.cols, w);
        y[n] = float(dot(w, x, weights.cols));
    }
}

} // namespace

size_t reference_scratch(const ggml_tensor * dst, int) {
    return saturating_mul(2, slice_bytes(saturating_mul(dst->src[0]->ne[0], sizeof(float))));
}

ggml_status mul_mat_reference(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    Scratch scratch(ctx.scratch);
    float *w = scratch.take<float>(size_t(a->ne[0])), *x = scratch.take<float>(size_t(a->ne[0]));
    for (int64_t i3 = 0; i3 < b->ne[3]; ++i3) {
        for (int64_t i2 = 0; i2 < b->ne[2]; ++i2) {
            for (int64_t m = 0; m < b->ne[1]; ++m) {
                read_activations(dst, row_of(b, m, i2, i3), x);
                product_row(a, i2 / (b->ne[2] / a->ne[2]), i3 / (b->ne[3] / a->ne[3]), x, w,
                            result_at(dst, m, i2, i3));
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status mul_mat_id_reference(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    Scratch scratch(ctx.scratch);
    float *w = scratch.take<float>(size_t(a->ne[0])), *x = scratch.take<float>(size_t(a->ne[0]));
    for (int64_t t = 0; t < dst->ne[2]; ++t) {
        for (int64_t e = 0; e < dst->ne[1]; ++e) {
            const int64_t expert = expert_at(dst, e, t);
            if (expert < 0) return GGML_STATUS_FAILED;
            read_activations(dst, row_of(b, e % b->ne[1], t, 0), x);
            product_row(a, expert, 0, x, w, result_at(dst, e, t, 0));
        }
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status out_prod_reference(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    Scratch scratch(ctx.scratch);
    float * row = scratch.take<float>(size_t(a->ne[0]));
    for (int64_t i3 = 0; i3 < dst->ne[3]; ++i3) {
        for (int64_t i2 = 0; i2 < dst->ne[2]; ++i2) {
            const int64_t a2 = i2 / (b->ne[2] / a->ne[2]), a3 = i3 / (b->ne[3] / a->ne[3]);
            for (int64_t i1 = 0; i1 < dst->ne[1]; ++i1) {
                float * y = result_at(dst, i1, i2, i3);
                for (int64_t i0 = 0; i0 < dst->ne[0]; ++i0) y[i0] = 0.0f;
                for (int64_t j = 0; j < a->ne[1]; ++j) {
                    float factor;
                    read_floats(b->type, b->nb[0], row_of(b, j, i2, i3), i1, 1, &factor);
                    read_floats(a->type, a->nb[0], row_of(a, j, a2, a3), 0, a->ne[0], row);
                    for (int64_t i0 = 0; i0 < dst->ne[0]; ++i0) y[i0] += row[i0] * factor;
                }
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu::matmul
