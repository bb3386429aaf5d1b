// DIAG_MASK_INF, DIAG_MASK_ZERO: element i of row j keeps its value for i <= n_past + j and becomes -inf or 0
// beyond.
#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernels/softmax/softmax.h"
#include "runtime/ops/params.h"

#include <algorithm>
#include <cmath>

namespace ggml::cpu {
namespace {

float mask_value(const ggml_tensor * dst) { return dst->op == GGML_OP_DIAG_MASK_INF ? -HUGE_VALF : 0.0f; }

} // namespace

bool diag_mask_supports(const ggml_tensor * dst) {
    const ggml_tensor * x = dst->src[0];
    return x != nullptr && x->type == GGML_TYPE_F32 && dst->type == GGML_TYPE_F32 &&
           ggml_are_same_shape(x, dst) && get_params<DiagMaskParams>(dst).n_past >= 0;
}

ggml_status diag_mask_reference(const KernelContext &, ggml_tensor * dst) {
    const ggml_tensor * x = dst->src[0];
    const int64_t n_past = get_params<DiagMaskParams>(dst).n_past;
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            const char * p = row_at<char>(x, row_offset(x, r) + size_t(i) * x->nb[0]);
            const float value = i > n_past + r.i1 ? mask_value(dst) : read_float(x->type, p);
            write_float(dst->type, row_at<char>(dst, row_offset(dst, r) + size_t(i) * dst->nb[0]), value);
        }
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status diag_mask_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * x = dst->src[0];
    const int64_t n_past = get_params<DiagMaskParams>(dst).n_past;
    const float value = mask_value(dst);
    for_each_block(ctx.team, dst, [&](RowIndex r, int64_t begin, int64_t n) {
        float x_buffer[kRowBlock], y_buffer[kRowBlock];
        const int64_t kept = std::clamp<int64_t>(n_past + r.i1 + 1 - begin, 0, n);
        char * row = row_at<char>(dst, row_offset(dst, r));
        float * y = result_row(dst, row, begin, y_buffer);
        const float * values = load_row(x, row_at<char>(x, row_offset(x, r)), begin, kept, x_buffer);
        if (values != y) std::copy(values, values + kept, y);
        std::fill(y + kept, y + n, value);
        store_row(dst, row, begin, n, y);
    });
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
