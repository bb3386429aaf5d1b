// GLU: src0 holds both halves of each row (swapped: gate first), or src0 and src1 hold one each. Any strides,
// plain float types.
#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/glu/gate.h"

namespace ggml::cpu {
namespace {

bool supports(const ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    if (a == nullptr || !is_plain_float(a->type) || !is_plain_float(dst->type)) return false;
    const int op = get_params<GluParams>(dst).op;
    if (op < 0 || op >= GGML_GLU_OP_COUNT) return false;
    for (int i = 1; i < GGML_MAX_DIMS; ++i) {
        if (a->ne[i] != dst->ne[i]) return false;
    }
    if (b == nullptr) return a->ne[0] / 2 == dst->ne[0];
    return is_plain_float(b->type) && ggml_are_same_shape(a, b) && a->ne[0] == dst->ne[0];
}

// The two operands as headers of dst's shape: views of the packed tensor's halves, or src0 and src1.
struct Operands {
    ggml_tensor x, g;
};

Operands operands_of(const ggml_tensor * dst) {
    Operands o{*dst->src[0], dst->src[1] != nullptr ? *dst->src[1] : *dst->src[0]};
    if (dst->src[1] == nullptr) {
        ggml_tensor & second = get_params<GluParams>(dst).swapped ? o.x : o.g;
        second.data = static_cast<char *>(second.data) + size_t(dst->ne[0]) * second.nb[0];
        o.x.ne[0] = o.g.ne[0] = dst->ne[0];
    }
    return o;
}

ggml_status reference(const KernelContext &, ggml_tensor * dst) {
    const auto p = get_params<GluParams>(dst);
    const Operands o = operands_of(dst);
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        const char * x = row_at<char>(&o.x, row_offset(&o.x, r));
        const char * g = row_at<char>(&o.g, row_offset(&o.g, r));
        char * y = row_at<char>(dst, row_offset(dst, r));
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            const float value = gate_scalar(p, read_float(o.x.type, x + size_t(i) * o.x.nb[0]),
                                            read_float(o.g.type, g + size_t(i) * o.g.nb[0]));
            write_float(dst->type, y + size_t(i) * dst->nb[0], value);
        }
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status kernel(const KernelContext & ctx, ggml_tensor * node) {
    const auto p = get_params<GluParams>(node);
    Operands o = operands_of(node);
    ggml_tensor dst = *node;
    fold_rows({&o.x, &o.g, &dst});
    for_each_block(ctx.team, &dst, [&](RowIndex r, int64_t begin, int64_t n) {
        float x_buffer[kRowBlock], g_buffer[kRowBlock], y_buffer[kRowBlock];
        const float * x = load_row(&o.x, row_at<char>(&o.x, row_offset(&o.x, r)), begin, n, x_buffer);
        const float * g = load_row(&o.g, row_at<char>(&o.g, row_offset(&o.g, r)), begin, n, g_buffer);
        char * row = row_at<char>(&dst, row_offset(&dst, r));
        float * y = result_row(&dst, row, begin, y_buffer);
        gate_row(p, x, g, y, n);
        store_row(&dst, row, begin, n, y);
    });
    return GGML_STATUS_SUCCESS;
}

constexpr OpKernels kKernels[] = {{GGML_OP_GLU, supports, kernel, reference}};

} // namespace

Family family_glu() { return kKernels; }

} // namespace ggml::cpu
