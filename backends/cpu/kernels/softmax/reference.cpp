#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernels/softmax/alibi.h"
#include "backends/cpu/kernels/softmax/softmax.h"
#include "runtime/ops/params.h"

#include <cmath>

namespace ggml::cpu {
namespace {

const char * mask_row(const ggml_tensor * mask, RowIndex r) {
    return row_at<char>(mask, row_offset(mask, {r.i1, r.i2 % mask->ne[2], r.i3 % mask->ne[3]}));
}

} // namespace

// The logit is float arithmetic with a rounding after each operation; exponentials and their sum are doubles.
ggml_status softmax_reference(const KernelContext &, ggml_tensor * dst) {
    const auto p = get_params<SoftMaxParams>(dst);
    const ggml_tensor *x = dst->src[0], *mask = dst->src[1], *sinks = dst->src[2];
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        const char * x_row = row_at<char>(x, row_offset(x, r));
        char * y_row = row_at<char>(dst, row_offset(dst, r));
        const float slope = alibi_slope(p.max_bias, dst->ne[2], r.i2);
        const double sink = sinks == nullptr
                                ? -HUGE_VAL
                                : read_float(sinks->type, row_at<char>(sinks, size_t(r.i2) * sinks->nb[0]));
        double max = sink;
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            float t = read_float(x->type, x_row + size_t(i) * x->nb[0]) * p.scale;
            if (mask != nullptr)
                t += slope * read_float(mask->type, mask_row(mask, r) + size_t(i) * mask->nb[0]);
            write_float(dst->type, y_row + size_t(i) * dst->nb[0], t);
            if (t > max) max = t;
        }
        const auto logit = [&](int64_t i) {
            return double(read_float(dst->type, y_row + size_t(i) * dst->nb[0]));
        };
        double sum = sinks == nullptr ? 0.0 : std::exp(sink - max);
        for (int64_t i = 0; i < dst->ne[0]; ++i) sum += std::exp(logit(i) - max);
        for (int64_t i = 0; i < dst->ne[0]; ++i) {
            write_float(dst->type, y_row + size_t(i) * dst->nb[0], float(std::exp(logit(i) - max) / sum));
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
