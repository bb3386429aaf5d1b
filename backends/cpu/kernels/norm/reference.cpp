#include "backends/cpu/float_rows.h"
#include "backends/cpu/kernels/norm/norm.h"

namespace ggml::cpu {
namespace {

// Visits the elements of dimension 0 and 1 of channels [c0, c1) of batch element i3, source and destination.
template <class Fn>
void for_elements(ggml_tensor * dst, int64_t i3, int64_t c0, int64_t c1, int64_t r0, int64_t r1, Fn && fn) {
    const ggml_tensor * src = dst->src[0];
    for (int64_t i2 = c0; i2 < c1; ++i2) {
        for (int64_t i1 = r0; i1 < r1; ++i1) {
            const char * x = row_at<char>(src, row_offset(src, {i1, i2, i3}));
            char * y = row_at<char>(dst, row_offset(dst, {i1, i2, i3}));
            for (int64_t i0 = 0; i0 < src->ne[0]; ++i0) {
                fn(read_float(src->type, x + size_t(i0) * src->nb[0]), y + size_t(i0) * dst->nb[0]);
            }
        }
    }
}

// Normalizes one box of elements to mean 0 (if `center`) and variance 1.
void normalize(ggml_tensor * dst, int64_t i3, int64_t c0, int64_t c1, int64_t r0, int64_t r1) {
    const bool center = dst->op == GGML_OP_NORM || dst->op == GGML_OP_GROUP_NORM;
    const double n = double(dst->ne[0]) * double(r1 - r0) * double(c1 - c0);
    float mean = 0.0f;
    if (center) {
        double sum = 0;
        for_elements(dst, i3, c0, c1, r0, r1, [&](float x, char *) { sum += x; });
        mean = float(sum / n);
    }
    double squares = 0;
    for_elements(dst, i3, c0, c1, r0, r1, [&](float x, char *) {
        const double v = center ? double(x - mean) : double(x);
        squares += v * v;
    });
    const float eps = dst->op == GGML_OP_GROUP_NORM ? get_params<GroupNormParams>(dst).eps
                                                    : get_params<NormParams>(dst).eps;
    const Scaling s =
        dst->op == GGML_OP_L2_NORM ? l2_scaling(squares, eps) : norm_scaling(squares, n, eps, mean);
    for_elements(dst, i3, c0, c1, r0, r1,
                 [&](float x, char * y) { write_float(dst->type, y, (center ? x - s.mean : x) * s.scale); });
}

} // namespace

ggml_status norm_reference(const KernelContext &, ggml_tensor * dst) {
    for (int64_t row = 0; row < ggml_nrows(dst); ++row) {
        const RowIndex r = row_index(dst, row);
        normalize(dst, r.i3, r.i2, r.i2 + 1, r.i1, r.i1 + 1);
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status group_norm_reference(const KernelContext &, ggml_tensor * dst) {
    const Groups groups = groups_of(dst);
    for (int64_t i3 = 0; i3 < dst->ne[3]; ++i3) {
        for (int64_t g = 0; g < groups.count; ++g)
            normalize(dst, i3, groups.begin(g), groups.end(g), 0, dst->ne[1]);
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu
