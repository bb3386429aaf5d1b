#include "runtime/ops/conv_size.h"
#include "runtime/ops/params.h"

ggml_tensor * ggml_im2col(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int s0, int s1, int p0,
                          int p1, int d0, int d1, bool is_2D, ggml_type dst_type) {
    using namespace ggml;
    const char * name = "ggml_im2col";
    const ConvStep x = {s0, p0, d0}, y = {s1, p1, d1};
    GGML_SHAPE_CHECK(is_possible(x) && (!is_2D || is_possible(y)), name,
                     "a stride, padding or dilation is not possible", a, b);
    if (is_2D) {
        GGML_SHAPE_CHECK(a->ne[2] == b->ne[2], name, "kernel and data differ in channels", a, b);
    } else {
        GGML_SHAPE_CHECK(a->ne[1] == b->ne[1], name, "kernel and data differ in channels", a, b);
        GGML_SHAPE_CHECK(b->ne[3] == 1, name, "one-dimensional data has a fourth dimension", a, b);
    }
    const Extent width = conv_output(b->ne[0], a->ne[0], x);
    const Extent height = is_2D ? conv_output(b->ne[1], a->ne[1], y) : Extent(1);
    GGML_SHAPE_CHECK(width > 0 && height > 0, name, "the data is smaller than the kernel", a, b);

    const Extent patch = Extent(a->ne[0]) * a->ne[1];
    const Extents ne =
        is_2D ? Extents{patch * a->ne[2], width, height, b->ne[3]} : Extents{patch, width, b->ne[2], 1};
    ggml_tensor * result = new_result(ctx, name, dst_type, ne, {a, b});
    set_params(result, Im2colParams{s0, s1, p0, p1, d0, d1, is_2D});
    return as_node(result, GGML_OP_IM2COL, {a, b});
}

ggml_tensor * ggml_im2col_3d(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int64_t IC, int s0, int s1,
                             int s2, int p0, int p1, int p2, int d0, int d1, int d2, ggml_type dst_type) {
    using namespace ggml;
    const char * name = "ggml_im2col_3d";
    const ConvStep steps[] = {{s0, p0, d0}, {s1, p1, d1}, {s2, p2, d2}};
    // Of the kernel only the window's size matters; dimension 3 may hold filters, channels or both.
    // Channels of the data beyond whole images are left out, as ggml does; with less than one the result is
    // empty.
    GGML_SHAPE_CHECK(IC > 0 && Extent(IC).fits_int32(), name, "the number of channels is not possible", a, b);
    Extents out = {1, 1, 1, 1};
    for (int i = 0; i < 3; ++i) {
        GGML_SHAPE_CHECK(is_possible(steps[i]), name, "a stride, padding or dilation is not possible", a, b);
        out[i] = conv_output(b->ne[i], a->ne[i], steps[i]);
        GGML_SHAPE_CHECK(out[i] > 0, name, "the data is smaller than the kernel", a, b);
    }
    const Extent patch = Extent(a->ne[0]) * a->ne[1] * a->ne[2] * IC;
    ggml_tensor * result =
        new_result(ctx, name, dst_type, {patch, out[0], out[1], out[2] * (b->ne[3] / IC)}, {a, b});
    set_params(result, Im2col3dParams{s0, s1, s2, p0, p1, p2, d0, d1, d2, int32_t(IC)});
    return as_node(result, GGML_OP_IM2COL_3D, {a, b});
}

ggml_tensor * ggml_col2im_1d(ggml_context * ctx, ggml_tensor * a, int s0, int oc, int p0) {
    using namespace ggml;
    const char * name = "ggml_col2im_1d";
    GGML_SHAPE_CHECK(ggml_is_matrix(a) && ggml_is_contiguous(a), name, "a is not a contiguous matrix", a);
    GGML_SHAPE_CHECK(a->type == GGML_TYPE_F32 || a->type == GGML_TYPE_F16 || a->type == GGML_TYPE_BF16, name,
                     "a is neither f32 nor a 16-bit float", a);
    GGML_SHAPE_CHECK(s0 > 0 && oc > 0 && p0 >= 0, name, "the stride, channels or padding are not possible",
                     a);
    GGML_SHAPE_CHECK(a->ne[0] > 0 && a->ne[0] % oc == 0, name, "columns are not a multiple of the channels",
                     a);
    const Extent length = conv_transpose_output(a->ne[1], a->ne[0] / oc, s0) - Extent(2) * p0;
    GGML_SHAPE_CHECK(length > 0, name, "the padding crops everything", a);
    ggml_tensor * result = new_result(ctx, name, a->type, {length, oc, 1, 1}, {a});
    set_params(result, Col2im1dParams{s0, oc, p0});
    return as_node(result, GGML_OP_COL2IM_1D, {a});
}
