// ADD, SUB, MUL, DIV, ADD1: dst = src0 op src1, where src1 repeats into src0 in every dimension. Any strides
// and any mix of the plain float types; ADD and ADD1 also take a block-quantized src0 (dequantize, add,
// quantize to dst's type with the reference rounding). One float operation per element, then one rounding to
// the destination type.
#include "backends/cpu/kernels/binary/binary.h"
#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernels/binary/arithmetic.h"

namespace ggml::cpu {
namespace {

Arithmetic arithmetic_of(ggml_op op) {
    switch (op) {
    case GGML_OP_SUB: return Arithmetic::sub;
    case GGML_OP_MUL: return Arithmetic::mul;
    case GGML_OP_DIV: return Arithmetic::div;
    default: return Arithmetic::add;
    }
}

bool is_readable_row(const ggml_tensor * t) {
    return is_plain_float(t->type) ||
           (ggml_is_quantized(t->type) && type_is_readable(t->type) && t->nb[0] == ggml_type_size(t->type));
}

bool supports(const ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    if (a == nullptr || b == nullptr || !ggml_are_same_shape(a, dst) || !ggml_can_repeat(b, a)) return false;
    if (!is_plain_float(b->type) || !is_readable_row(a)) return false;
    if (is_plain_float(a->type) && is_plain_float(dst->type)) return true;
    const bool quantized_result = ggml_is_quantized(dst->type) &&
                                  type_info(dst->type).from_float != nullptr &&
                                  dst->nb[0] == ggml_type_size(dst->type);
    const bool adds = dst->op == GGML_OP_ADD || dst->op == GGML_OP_ADD1;
    return adds && (is_plain_float(dst->type) || quantized_result);
}

// Blocks of a row are independent in every type, so converting a block at a time equals converting the row.
ggml_status reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor *a = dst->src[0], *b = dst->src[1];
    const Arithmetic op = arithmetic_of(dst->op);
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        const char * a_row = row_at<char>(a, row_offset(a, r));
        const char * b_row = row_at<char>(b, repeated_row_offset(b, r));
        for (int64_t begin = 0; begin < dst->ne[0]; begin += kRowBlock) {
            const int64_t n = dst->ne[0] - begin < kRowBlock ? dst->ne[0] - begin : kRowBlock;
            float a_buffer[kRowBlock], y[kRowBlock];
            const float * x = load_row(a, a_row, begin, n, a_buffer);
            for (int64_t i = 0; i < n; ++i) {
                const size_t wrapped = size_t((begin + i) % b->ne[0]);
                y[i] = arithmetic(op, x[i], read_float(b->type, b_row + wrapped * b->nb[0]));
            }
            store_row(dst, row_at<char>(dst, row_offset(dst, r)), begin, n, y);
        }
    }
    return GGML_STATUS_SUCCESS;
}

// Merges dimension 1 into 0 where src1 follows src0 there or is constant over both (a bias per channel).
void fold(ggml_tensor & a, ggml_tensor & b, ggml_tensor & dst) {
    for (int step = 0; step < 3; ++step) {
        if (!rows_touch(&a) || !rows_touch(&dst)) return;
        const bool constant = b.ne[0] == 1 && b.ne[1] == 1;
        const bool parallel = b.ne[0] == a.ne[0] && b.ne[1] == a.ne[1] && rows_touch(&b);
        if (!constant && !parallel) return;
        drop_dim1(&b, b.ne[0] * b.ne[1]);
        drop_dim1(&a, a.ne[0] * a.ne[1]);
        drop_dim1(&dst, dst.ne[0] * dst.ne[1]);
    }
}

// Elements [begin, begin + n) of src1 repeated along dimension 0.
const float * repeated(const ggml_tensor & b, const char * row, int64_t begin, int64_t n, float * buffer) {
    for (int64_t done = 0; done < n;) {
        const int64_t at = (begin + done) % b.ne[0];
        const int64_t part = n - done < b.ne[0] - at ? n - done : b.ne[0] - at;
        const float * p = load_row(&b, row, at, part, buffer + done);
        if (p != buffer + done) std::memcpy(buffer + done, p, size_t(part) * sizeof(float));
        done += part;
    }
    return buffer;
}

ggml_status kernel(const KernelContext & ctx, ggml_tensor * node) {
    const Arithmetic op = arithmetic_of(node->op);
    ggml_tensor a = *node->src[0], b = *node->src[1], dst = *node;
    fold(a, b, dst);
    for_each_block(ctx.team, &dst, [&](RowIndex r, int64_t begin, int64_t n) {
        float a_buffer[kRowBlock], b_buffer[kRowBlock], y_buffer[kRowBlock];
        const float * x = load_row(&a, row_at<char>(&a, row_offset(&a, r)), begin, n, a_buffer);
        const char * b_row = row_at<char>(&b, repeated_row_offset(&b, r));
        char * row = row_at<char>(&dst, row_offset(&dst, r));
        float * y = result_row(&dst, row, begin, y_buffer);
        if (b.ne[0] == 1) {
            arithmetic_row_scalar(op, x, read_float(b.type, b_row), y, n);
        } else if (b.ne[0] == a.ne[0]) {
            arithmetic_row(op, x, load_row(&b, b_row, begin, n, b_buffer), y, n);
        } else {
            arithmetic_row(op, x, repeated(b, b_row, begin, n, b_buffer), y, n);
        }
        store_row(&dst, row, begin, n, y);
    });
    return GGML_STATUS_SUCCESS;
}

constexpr OpKernels kKernels[] = {
    {GGML_OP_ADD, supports, kernel, reference},
    {GGML_OP_SUB, supports, kernel, reference},
    {GGML_OP_MUL, supports, kernel, reference},
    {GGML_OP_DIV, supports, kernel, reference},
    {GGML_OP_ADD1, supports, kernel, reference},
    {GGML_OP_ADD_ID, add_id_supports, add_id_kernel, add_id_reference},
    {GGML_OP_ACC, acc_supports, acc_kernel, acc_reference},
};

} // namespace

Family family_binary() { return kKernels; }

} // namespace ggml::cpu
