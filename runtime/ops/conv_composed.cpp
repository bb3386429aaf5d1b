// Convolutions built from im2col, mul_mat and views. The node sequence is part of what programs and backends
// see, so it follows ggml's step by step.
#include "runtime/ops/build.h"

#include <limits>

namespace ggml {
namespace {

// Patches in half precision halve the memory of im2col. A bf16 kernel has a range f16 patches would not
// match.
ggml_type patch_type(const ggml_tensor * kernel) {
    return kernel->type == GGML_TYPE_BF16 ? GGML_TYPE_F32 : GGML_TYPE_F16;
}

// A stride or padding taken from a kernel's size.
int kernel_extent(const char * name, const ggml_tensor * kernel, int dim) {
    GGML_SHAPE_CHECK(kernel->ne[dim] <= std::numeric_limits<int>::max(), name, "the kernel is too large",
                     kernel);
    return int(kernel->ne[dim]);
}

// [x, y, n, o] as mul_mat gives it -> [x, y, o, n], contiguous.
ggml_tensor * channels_before_batch(ggml_context * ctx, ggml_tensor * t) {
    return ggml_cont(ctx, ggml_permute(ctx, t, 0, 1, 3, 2));
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_conv_1d(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int s0, int p0, int d0) {
    ggml_tensor * patches = ggml_im2col(ctx, a, b, s0, 0, p0, 0, d0, 0, false, ggml::patch_type(a));
    ggml_tensor * rows = ggml_reshape_2d(ctx, patches, patches->ne[0], patches->ne[1] * patches->ne[2]);
    ggml_tensor * kernels = ggml_reshape_2d(ctx, a, a->ne[0] * a->ne[1], a->ne[2]);
    ggml_tensor * result = ggml_mul_mat(ctx, rows, kernels);
    return ggml_reshape_3d(ctx, result, patches->ne[1], a->ne[2], patches->ne[2]);
}

ggml_tensor * ggml_conv_1d_ph(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int s, int d) {
    return ggml_conv_1d(ctx, a, b, s, ggml::kernel_extent("ggml_conv_1d_ph", a, 0) / 2, d);
}

// Channels become matrices of one row each, so that every kernel meets its own channel only.
ggml_tensor * ggml_conv_1d_dw(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int s0, int p0, int d0) {
    ggml_tensor * channels = ggml_reshape_4d(ctx, b, b->ne[0], 1, b->ne[1], b->ne[2]);
    ggml_tensor * patches = ggml_im2col(ctx, a, channels, s0, 0, p0, 0, d0, 0, false, ggml::patch_type(a));
    ggml_tensor * result = ggml_mul_mat(ctx, patches, a);
    return ggml_reshape_3d(ctx, result, result->ne[0], result->ne[2], 1);
}

ggml_tensor * ggml_conv_1d_dw_ph(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int s0, int d0) {
    return ggml_conv_1d_dw(ctx, a, b, s0, ggml::kernel_extent("ggml_conv_1d_dw_ph", a, 0) / 2, d0);
}

ggml_tensor * ggml_conv_2d(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int s0, int s1, int p0,
                           int p1, int d0, int d1) {
    ggml_tensor * patches = ggml_im2col(ctx, a, b, s0, s1, p0, p1, d0, d1, true, ggml::patch_type(a));
    ggml_tensor * rows =
        ggml_reshape_2d(ctx, patches, patches->ne[0], patches->ne[1] * patches->ne[2] * patches->ne[3]);
    ggml_tensor * kernels = ggml_reshape_2d(ctx, a, a->ne[0] * a->ne[1] * a->ne[2], a->ne[3]);
    ggml_tensor * result = ggml_mul_mat(ctx, rows, kernels);
    result = ggml_reshape_4d(ctx, result, patches->ne[1], patches->ne[2], patches->ne[3], a->ne[3]);
    return ggml::channels_before_batch(ctx, result);
}

ggml_tensor * ggml_conv_2d_sk_p0(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    const char * name = "ggml_conv_2d_sk_p0";
    return ggml_conv_2d(ctx, a, b, ggml::kernel_extent(name, a, 0), ggml::kernel_extent(name, a, 1), 0, 0, 1,
                        1);
}

ggml_tensor * ggml_conv_2d_s1_ph(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b) {
    const char * name = "ggml_conv_2d_s1_ph";
    return ggml_conv_2d(ctx, a, b, 1, 1, ggml::kernel_extent(name, a, 0) / 2,
                        ggml::kernel_extent(name, a, 1) / 2, 1, 1);
}

ggml_tensor * ggml_conv_2d_dw(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int s0, int s1, int p0,
                              int p1, int d0, int d1) {
    ggml_tensor * kernels = ggml_reshape_4d(ctx, a, a->ne[0], a->ne[1], 1, a->ne[2] * a->ne[3]);
    ggml_tensor * planes = ggml_reshape_4d(ctx, b, b->ne[0], b->ne[1], 1, b->ne[2] * b->ne[3]);
    ggml_tensor * patches =
        ggml_im2col(ctx, kernels, planes, s0, s1, p0, p1, d0, d1, true, ggml::patch_type(a));
    ggml_tensor * rows =
        ggml_reshape_4d(ctx, patches, patches->ne[0], patches->ne[1] * patches->ne[2], b->ne[2], b->ne[3]);
    kernels =
        ggml_reshape_4d(ctx, kernels, kernels->ne[0] * kernels->ne[1], kernels->ne[2], kernels->ne[3], 1);
    ggml_tensor * result = ggml_mul_mat(ctx, kernels, rows);
    return ggml_reshape_4d(ctx, result, patches->ne[1], patches->ne[2], b->ne[2], b->ne[3]);
}

ggml_tensor * ggml_conv_3d(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int64_t IC, int s0, int s1,
                           int s2, int p0, int p1, int p2, int d0, int d1, int d2) {
    GGML_SHAPE_CHECK(IC > 0 && b->ne[3] >= IC, "ggml_conv_3d", "the data has no whole set of IC channels", a,
                     b);
    ggml_tensor * patches =
        ggml_im2col_3d(ctx, a, b, IC, s0, s1, s2, p0, p1, p2, d0, d1, d2, ggml::patch_type(a));
    const int64_t out_channels = a->ne[3] / IC;
    const int64_t batch = b->ne[3] / IC;
    const int64_t depth = patches->ne[3] / batch;
    ggml_tensor * rows =
        ggml_reshape_2d(ctx, patches, patches->ne[0], patches->ne[1] * patches->ne[2] * patches->ne[3]);
    ggml_tensor * kernels = ggml_reshape_2d(ctx, a, a->ne[0] * a->ne[1] * a->ne[2] * IC, out_channels);
    ggml_tensor * result = ggml_mul_mat(ctx, rows, kernels);
    result = ggml_reshape_4d(ctx, result, patches->ne[1] * patches->ne[2], depth, batch, out_channels);
    result = ggml::channels_before_batch(ctx, result);
    return ggml_reshape_4d(ctx, result, patches->ne[1], patches->ne[2], depth, out_channels * batch);
}
