// NORM, RMS_NORM, L2_NORM (over each row) and GROUP_NORM (over groups of channels, dimension 2). F32, any
// strides, in place or not. Sums are doubles; only mean, scale, v and y are rounded to float, in this order,
// and fusions that promise the same bits must keep it:
//   NORM, GROUP_NORM  mean = sum x / n; v = x - mean; scale = 1 / sqrt(sum v^2 / n + eps); y = v * scale
//   RMS_NORM          scale = 1 / sqrt(sum x^2 / n + eps);                                 y = x * scale
//   L2_NORM           scale = 1 / max(sqrt(sum x^2), eps);                                 y = x * scale
#include "backends/cpu/kernels/norm/norm.h"
#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernels/norm/norm_rows.h"
#include "runtime/base/math.h"

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

// One group of one batch element: its rows follow each other in ggml's order of rows.
struct Group {
    ggml_tensor * dst;
    int64_t first_row, n_rows;
};

// fn(i, row) for rows [begin, end) of a group.
template <class Fn>
void for_rows(const Group & g, int64_t begin, int64_t end, Fn && fn) {
    RowIndex r = row_index(g.dst, g.first_row + begin);
    for (int64_t i = begin; i < end; ++i, next_row(g.dst, r)) fn(i, r);
}

// What works on a group: the calling thread, or a team with room for one sum per row. Row sums are added in
// memory order either way, so the result is the same.
struct GroupWorkers {
    const Team * team = nullptr;
    double * row_sums = nullptr;

    template <class Fn>
    void for_each(const Group & g, Fn && fn) const {
        if (team == nullptr) return for_rows(g, 0, g.n_rows, fn);
        team->parallel_for(g.n_rows, kParallelGrain / (g.dst->ne[0] + 32) + 1,
                           [&](int64_t begin, int64_t end) { for_rows(g, begin, end, fn); });
    }
    template <class Fn>
    double sum(const Group & g, Fn && row_sum) const {
        double total = 0;
        if (team == nullptr) {
            for_each(g, [&](int64_t, RowIndex r) { total += row_sum(r); });
            return total;
        }
        for_each(g, [&](int64_t i, RowIndex r) { row_sums[i] = row_sum(r); });
        for (int64_t i = 0; i < g.n_rows; ++i) total += row_sums[i];
        return total;
    }
};

void normalize_group(const Group & g, float eps, const GroupWorkers & workers) {
    const ggml_tensor * x = g.dst->src[0];
    const double n = double(x->ne[0]) * double(g.n_rows);
    const auto at = [&](RowIndex r) { return row_at<char>(x, row_offset(x, r)); };
    const float mean = float(workers.sum(g, [&](RowIndex r) { return row_sum(x, at(r)); }) / n);
    const double squares = workers.sum(g, [&](RowIndex r) { return row_sum_centered(x, at(r), mean); });
    const Scaling s = norm_scaling(squares, n, eps, mean);
    workers.for_each(g, [&](int64_t, RowIndex r) { apply(x, g.dst, r, s, true); });
}

Group group_of(ggml_tensor * dst, const Groups & groups, int64_t i) {
    const int64_t i3 = i / groups.count, group = i % groups.count;
    return {dst, (i3 * dst->ne[2] + groups.begin(group)) * dst->ne[1],
            (groups.end(group) - groups.begin(group)) * dst->ne[1]};
}

// Groups go to threads; when there are fewer, the team shares each.
bool shares_groups(const ggml_tensor * dst, int n_threads) {
    return groups_of(dst).count * dst->ne[3] < n_threads;
}

size_t group_scratch(const ggml_tensor * dst, int n_threads) {
    if (!shares_groups(dst, n_threads)) return 0;
    return saturating_mul(groups_of(dst).per_group, dst->ne[1], sizeof(double));
}

ggml_status group_kernel(const KernelContext & ctx, ggml_tensor * dst) {
    const Groups groups = groups_of(dst);
    const float eps = get_params<GroupNormParams>(dst).eps;
    const int64_t n = groups.count * dst->ne[3];
    if (shares_groups(dst, ctx.team.n_threads())) {
        const GroupWorkers team{&ctx.team, reinterpret_cast<double *>(ctx.scratch.data())};
        for (int64_t i = 0; i < n; ++i) normalize_group(group_of(dst, groups, i), eps, team);
        return GGML_STATUS_SUCCESS;
    }
    ctx.team.parallel_chunks(n, 1, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) normalize_group(group_of(dst, groups, i), eps, {});
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
    {GGML_OP_GROUP_NORM, group_supports, group_kernel, group_norm_reference, group_scratch},
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
