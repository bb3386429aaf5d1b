// UNARY, SQR, SQRT, LOG, SIN, COS, LEAKY_RELU, CLAMP, SCALE: dst[i] = f(src[i]), any strides, any mix of the
// plain float types, in place or not. Values are computed as floats and rounded to the destination type.
#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/unary/function.h"
#include "runtime/ops/params.h"

namespace ggml::cpu {

UnaryFunction unary_function(const ggml_tensor * node) {
    UnaryFunction f{node->op, GGML_UNARY_OP_COUNT, {}};
    switch (node->op) {
    case GGML_OP_UNARY:
        f.unary = ggml_unary_op(get_params<UnaryParams>(node).op);
        if (f.unary == GGML_UNARY_OP_XIELU) {
            const auto p = get_params<XieluParams>(node);
            f = {f.op, f.unary, {p.alpha_n, p.alpha_p, p.beta, p.eps}};
        }
        break;
    case GGML_OP_LEAKY_RELU: f.p[0] = get_params<LeakyReluParams>(node).negative_slope; break;
    case GGML_OP_CLAMP: {
        const auto p = get_params<ClampParams>(node);
        f.p[0] = p.min;
        f.p[1] = p.max;
        break;
    }
    case GGML_OP_SCALE: {
        const auto p = get_params<ScaleParams>(node);
        f.p[0] = p.scale;
        f.p[1] = p.bias;
        break;
    }
    default: break;
    }
    return f;
}

namespace {

bool supports(const ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    if (src == nullptr || !ggml_are_same_shape(src, dst)) return false;
    if (!is_plain_float(src->type) || !is_plain_float(dst->type)) return false;
    if (dst->op != GGML_OP_UNARY) return true;
    const int op = get_params<UnaryParams>(dst).op;
    return op >= 0 && op < GGML_UNARY_OP_COUNT;
}

ggml_status reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor * src = dst->src[0];
    const UnaryFunction f = unary_function(dst);
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        const char * x = row_at<char>(src, row_offset(src, r));
        char * y = row_at<char>(dst, row_offset(dst, r));
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            const float value = unary_scalar(f, read_float(src->type, x + size_t(i) * src->nb[0]));
            write_float(dst->type, y + size_t(i) * dst->nb[0], value);
        }
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status kernel(const KernelContext & ctx, ggml_tensor * node) {
    const UnaryFunction f = unary_function(node);
    ggml_tensor src = *node->src[0], dst = *node;
    fold_rows({&src, &dst});
    for_each_block(ctx.team, &dst, [&](RowIndex r, int64_t begin, int64_t n) {
        float x_buffer[kRowBlock], y_buffer[kRowBlock];
        const float * x = load_row(&src, row_at<char>(&src, row_offset(&src, r)), begin, n, x_buffer);
        char * row = row_at<char>(&dst, row_offset(&dst, r));
        float * y = result_row(&dst, row, begin, y_buffer);
        unary_row(f, x, y, n);
        store_row(&dst, row, begin, n, y);
    });
    return GGML_STATUS_SUCCESS;
}

constexpr OpKernels kKernels[] = {
    {GGML_OP_UNARY, supports, kernel, reference}, {GGML_OP_SQR, supports, kernel, reference},
    {GGML_OP_SQRT, supports, kernel, reference},  {GGML_OP_LOG, supports, kernel, reference},
    {GGML_OP_SIN, supports, kernel, reference},   {GGML_OP_COS, supports, kernel, reference},
    {GGML_OP_CLAMP, supports, kernel, reference}, {GGML_OP_LEAKY_RELU, supports, kernel, reference},
    {GGML_OP_SCALE, supports, kernel, reference},
};

} // namespace

Family family_unary() { return kKernels; }

} // namespace ggml::cpu
