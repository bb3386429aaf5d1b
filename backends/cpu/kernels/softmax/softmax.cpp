// SOFT_MAX over rows: t = x * scale + slope * mask, y = exp(t - max) / sum. The mask (F32 or F16) repeats
// over dimensions 2 and 3; a sink is one more logit per head that takes weight but has no output. F32, in
// place or not. A row whose every t is -inf has no maximum and becomes NaN, unless it has a finite sink.
#include "backends/cpu/kernels/softmax/softmax.h"
#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernels/norm/norm_rows.h"
#include "backends/cpu/kernels/softmax/alibi.h"
#include "backends/cpu/kernels/softmax/softmax_rows.h"
#include "runtime/ops/params.h"

#include <cmath>

namespace ggml::cpu {
namespace {

bool mask_fits(const ggml_tensor * mask, const ggml_tensor * x) {
    const bool type = mask->type == GGML_TYPE_F32 || mask->type == GGML_TYPE_F16;
    return type && mask->ne[0] == x->ne[0] && mask->ne[1] >= x->ne[1] && mask->ne[2] > 0 && mask->ne[3] > 0 &&
           x->ne[2] % mask->ne[2] == 0 && x->ne[3] % mask->ne[3] == 0;
}

bool supports(const ggml_tensor * dst) {
    const ggml_tensor *x = dst->src[0], *mask = dst->src[1], *sinks = dst->src[2];
    if (x == nullptr || x->type != GGML_TYPE_F32 || !ggml_are_same_shape(x, dst) || !is_float_row(dst))
        return false;
    if (mask != nullptr && !ggml_is_empty(x) && !mask_fits(mask, x)) return false;
    return sinks == nullptr || (sinks->type == GGML_TYPE_F32 && sinks->ne[0] == x->ne[2]);
}

// First pass over a row, a block at a time because mask and input may need conversion.
float scaled_row(const ggml_tensor * dst, RowIndex r, float * y) {
    const auto p = get_params<SoftMaxParams>(dst);
    const ggml_tensor *x = dst->src[0], *mask = dst->src[1];
    const char * x_row = row_at<char>(x, row_offset(x, r));
    const char * mask_row =
        mask == nullptr
            ? nullptr
            : row_at<char>(mask, row_offset(mask, {r.i1, r.i2 % mask->ne[2], r.i3 % mask->ne[3]}));
    const float slope = alibi_slope(p.max_bias, dst->ne[2], r.i2);
    float max = -HUGE_VALF;
    for (int64_t begin = 0; begin < dst->ne[0]; begin += kRowBlock) {
        const int64_t n = dst->ne[0] - begin < kRowBlock ? dst->ne[0] - begin : kRowBlock;
        float x_buffer[kRowBlock], mask_buffer[kRowBlock];
        const float * m = mask_row == nullptr ? nullptr : load_row(mask, mask_row, begin, n, mask_buffer);
        const float block_max =
            scale_mask_row(load_row(x, x_row, begin, n, x_buffer), p.scale, m, slope, y + begin, n);
        max = block_max > max ? block_max : max;
    }
    return max;
}

ggml_status kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * sinks = dst->src[2];
    const int64_t grain =
        kParallelGrain / (4 * dst->ne[0] + 32) + 1; // an exp costs about four simple operations
    ctx.team.parallel_for(ggml_nrows(dst), grain, [&](int64_t first, int64_t last) {
        RowIndex r = row_index(dst, first);
        for (int64_t row = first; row < last; ++row, next_row(dst, r)) {
            float * y = row_at<float>(dst, row_offset(dst, r));
            float max = scaled_row(dst, r, y);
            const float sink =
                sinks == nullptr ? -HUGE_VALF : *row_at<float>(sinks, size_t(r.i2) * sinks->nb[0]);
            max = sink > max ? sink : max;
            double sum = exp_sum_row(y, max, dst->ne[0]);
            if (sinks != nullptr) sum += std::exp(double(sink - max));
            scale_row(y, float(1.0 / sum), y, dst->ne[0]);
        }
    });
    return GGML_STATUS_SUCCESS;
}

constexpr OpKernels kKernels[] = {
    {GGML_OP_SOFT_MAX, supports, kernel, softmax_reference},
    {GGML_OP_DIAG_MASK_INF, diag_mask_supports, diag_mask_kernel, diag_mask_reference},
    {GGML_OP_DIAG_MASK_ZERO, diag_mask_supports, diag_mask_kernel, diag_mask_reference},
};

} // namespace

Family family_softmax() { return kKernels; }

} // namespace ggml::cpu
