// NORM, RMS_NORM, L2_NORM (over each row) and GROUP_NORM (over groups of channels, dimension 2). F32, any
// strides, in place or not. Sums are doubles; only mean, scale, v and y are rounded to float, in this order,
// and fusions that promise the same bits must keep it:
//   NORM, GROUP_NORM  mean = sum x / n; v = x - mean; scale = 1 / sqrt(sum v^2 / n + eps); y = v * scale
//   RMS_NORM          scale = 1 / sqrt(sum x^2 / n + eps);                                 y = x * scale
//   L2_NORM           scale = 1 / max(sqrt(sum x^2), eps);                                 y = x * scale
#include "backends/cpu/kernels/norm/norm.h"
#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernels/norm/norm_rows.h"

#include <cmath>

namespace ggml::cpu {

Scaling norm_scaling(double sum_squares, double n, float eps, float mean) {
    return {mean, float(1.0 / std::sqrt(sum_squares / n + eps))};
}

Scaling l2_scaling(double sum_squares, float eps) {
    const double length = std::sqrt(sum_squares);
    return {0.0f, float(1.0 / (length < eps ? double(eps) : length))}; // NaN stays NaN
}

namespace {

// fn(values, n) for every block of a row.
template <class Fn>
void for_blocks(const ggml_tensor * t, const char * row, Fn && fn) {
    float buffer[kRowBlock];
    for (int64_t begin = 0; begin < t->ne[0]; begin += kRowBlock) {
        const int64_t n = t->ne[0] - begin < kRowBlock ? t->ne[0] - begin : kRowBlock;
        fn(load_row(t, row, begin, n, buffer), begin, n);
    }
}

double row_sum(const ggml_tensor * x, const char * row) {
    double sum = 0;
    for_blocks(x, row, [&](const float * p, int64_t, int64_t n) { sum += sum_row(p, n); });
    return sum;
}

double row_sum_squares(const ggml_tensor * x, const char * row) {
    double sum = 0;
    for_blocks(x, row, [&](const float * p, int64_t, int64_t n) { sum += sum_squares_row(p, n); });
    return sum;
}

double row_sum_centered(const ggml_tensor * x, const char * row, float mean) {
    double sum = 0;
    for_blocks(x, row,
               [&](const float * p, int64_t, int64_t n) { sum += sum_centered_squares_row(p, mean, n); });
    return sum;
}

// y = (x - mean) * scale; without centering no subtraction happens, which keeps -0.
void apply(const ggml_tensor * x, ggml_tensor * y, RowIndex r, Scaling s, bool center) {
    char * out = row_at<char>(y, row_offset(y, r));
    for_blocks(x, row_at<char>(x, row_offset(x, r)), [&](const float * p, int64_t begin, int64_t n) {
        float buffer[kRowBlock];
        float * result = result_row(y, out, begin, buffer);
        if (center) {
            center_scale_row(p, s.mean, s.scale, result, n);
        } else {
            scale_row(p, s.scale, result, n);
        }
        store_row(y, out, begin, n, result);
    });
}

Scaling row_scaling(const ggml_tensor * node, const char * row) {
    const ggml_tensor * x = node->src[0];
    const float eps = get_params<NormParams>(node).eps;
    const double n = double(x->ne[0]);
    if (node->op == GGML_OP_L2_NORM) return l2_scaling(row_sum_squares(x, row), eps);
    if (node->op == GGML_OP_RMS_NORM) return norm_scaling(row_sum_squares(x, row), n, eps, 0.0f);
    const float mean = float(row_sum(x, row) / n);
    return norm_scaling(row_sum_centered(x, row, mean), n, eps, mean);
}

ggml_status rows_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const ggml_tensor * x = dst->src[0];
    const int64_t grain = kParallelGrain / (dst->ne[0] + 32) + 1;
    ctx.team.parallel_for(ggml_nrows(dst), grain, [&](int64_t first, int64_t last) {
        RowIndex r = row_index(dst, first);
        for (int64_t row = first; row < last; ++row, next_row(dst, r)) {
            apply(x, dst, r, row_scaling(dst, row_at<char>(x, row_offset(x, r))), dst->op == GGML_OP_NORM);
        }
    });
    return GGML_STATUS_SUCCESS;
}

// One group of one batch element: all rows of channels [c0, c1). Row sums are added in memory order.
void normalize_group(ggml_tensor * dst, int64_t i3, int64_t c0, int64_t c1, float eps) {
    const ggml_tensor * x = dst->src[0];
    const double n = double(x->ne[0]) * double(x->ne[1]) * double(c1 - c0);
    const auto for_rows = [&](auto && fn) {
        for (int64_t i2 = c0; i2 < c1; ++i2) {
            for (int64_t i1 = 0; i1 < x->ne[1]; ++i1) fn(RowIndex{i1, i2, i3});
        }
    };
    double sum = 0, squares = 0;
    for_rows([&](RowIndex r) { sum += row_sum(x, row_at<char>(x, row_offset(x, r))); });
    const float mean = float(sum / n);
    for_rows([&](RowIndex r) { squares += row_sum_centered(x, row_at<char>(x, row_offset(x, r)), mean); });
    const Scaling s = norm_scaling(squares, n, eps, mean);
    for_rows([&](RowIndex r) { apply(x, dst, r, s, true); });
}

ggml_status group_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const Groups groups = groups_of(dst);
    const float eps = get_params<GroupNormParams>(dst).eps;
    ctx.team.parallel_chunks(groups.count * dst->ne[3], 1, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
            const int64_t i3 = i / groups.count, group = i % groups.count;
            normalize_group(dst, i3, groups.begin(group), groups.end(group), eps);
        }
    });
    return GGML_STATUS_SUCCESS;
}

bool supports(const ggml_tensor * dst) {
    const ggml_tensor * x = dst->src[0];
    return x != nullptr && x->type == GGML_TYPE_F32 && dst->type == GGML_TYPE_F32 &&
           ggml_are_same_shape(x, dst);
}

bool group_supports(const ggml_tensor * dst) {
    return supports(dst) && get_params<GroupNormParams>(dst).n_groups > 0;
}

constexpr OpKernels kKernels[] = {
    {GGML_OP_NORM, supports, rows_kernel, norm_reference},
    {GGML_OP_RMS_NORM, supports, rows_kernel, norm_reference},
    {GGML_OP_L2_NORM, supports, rows_kernel, norm_reference},
    {GGML_OP_GROUP_NORM, group_supports, group_kernel, group_norm_reference},
};

} // namespace

Groups groups_of(const ggml_tensor * dst) {
    const int64_t channels = dst->ne[2], n = get_params<GroupNormParams>(dst).n_groups;
    const int64_t per_group = (channels + n - 1) / n;
    // With more groups than channels divide into, the last ones are empty and take no part.
    return {(channels + per_group - 1) / per_group, per_group, channels};
}

Family family_norm() { return kKernels; }

} // namespace ggml::cpu
