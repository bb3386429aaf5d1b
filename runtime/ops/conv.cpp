// Convolutions as one operator each. Those composed of im2col and mul_mat are in conv_composed.cpp.
#include "runtime/ops/conv_size.h"
#include "runtime/ops/params.h"

namespace ggml {
namespace {

// Output width and height, checked; the caller fills in channels and batch.
Extents plane_of(const char * name, const ggml_tensor * a, const ggml_tensor * b, const Conv2dParams & p) {
    const ConvStep x = {p.s0, p.p0, p.d0}, y = {p.s1, p.p1, p.d1};
    GGML_SHAPE_CHECK(is_possible(x) && is_possible(y), name, "a stride, padding or dilation is not possible",
                     a, b);
    const Extents ne = {conv_output(b->ne[0], a->ne[0], x), conv_output(b->ne[1], a->ne[1], y), 1, b->ne[3]};
    GGML_SHAPE_CHECK(ne[0] > 0 && ne[1] > 0, name, "the data is smaller than the kernel", a, b);
    return ne;
}

// Data with channels innermost in memory gives a result laid out the same way.
void put_channels_first(ggml_tensor * t) {
    const size_t element = ggml_type_size(t->type);
    t->nb[0] = size_t(t->ne[2]) * element;
    t->nb[1] = size_t(t->ne[0]) * t->nb[0];
    t->nb[2] = element;
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_conv_2d_direct(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int s0, int s1,
                                  int p0, int p1, int d0, int d1) {
    const char * name = "ggml_conv_2d_direct";
    GGML_SHAPE_CHECK(a->ne[2] == b->ne[2], name, "kernel and data differ in channels", a, b);
    const ggml::Conv2dParams params{s0, s1, p0, p1, d0, d1};
    ggml::Extents ne = ggml::plane_of(name, a, b, params);
    ne[2] = a->ne[3];
    ggml_tensor * result = ggml::new_result(ctx, name, b->type, ne, {a, b});
    ggml::set_params(result, params);
    return ggml::as_node(result, GGML_OP_CONV_2D, {a, b});
}

ggml_tensor * ggml_conv_2d_dw_direct(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int stride0,
                                     int stride1, int pad0, int pad1, int dilation0, int dilation1) {
    const char * name = "ggml_conv_2d_dw_direct";
    GGML_SHAPE_CHECK(a->ne[2] == 1 && a->ne[3] == b->ne[2], name, "there is not one kernel plane per channel",
                     a, b);
    GGML_SHAPE_CHECK(ggml_blck_size(b->type) == 1, name, "the data is quantized", a, b);
    const ggml::Conv2dParams params{stride0, stride1, pad0, pad1, dilation0, dilation1};
    ggml::Extents ne = ggml::plane_of(name, a, b, params);
    ne[2] = b->ne[2];
    ggml_tensor * result = ggml::new_result(ctx, name, b->type, ne, {a, b});
    if (ggml_is_contiguous_channels(b)) ggml::put_channels_first(result);
    ggml::set_params(result, params);
    return ggml::as_node(result, GGML_OP_CONV_2D_DW, {a, b});
}

ggml_tensor * ggml_conv_3d_direct(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int s0, int s1,
                                  int s2, int p0, int p1, int p2, int d0, int d1, int d2, int n_channels,
                                  int n_batch, int n_channels_out) {
    using namespace ggml;
    const char * name = "ggml_conv_3d_direct";
    GGML_SHAPE_CHECK(n_channels > 0 && n_batch >= 0 && n_channels_out >= 0 &&
                         a->ne[3] == int64_t(n_channels) * n_channels_out &&
                         b->ne[3] == int64_t(n_channels) * n_batch,
                     name, "channels and batch do not multiply to the last dimensions", a, b);
    const ConvStep steps[] = {{s0, p0, d0}, {s1, p1, d1}, {s2, p2, d2}};
    Extents ne = {1, 1, 1, int64_t(n_channels_out) * n_batch};
    for (int i = 0; i < 3; ++i) {
        GGML_SHAPE_CHECK(is_possible(steps[i]), name, "a stride, padding or dilation is not possible", a, b);
        ne[i] = conv_output(b->ne[i], a->ne[i], steps[i]);
        GGML_SHAPE_CHECK(ne[i] > 0, name, "the data is smaller than the kernel", a, b);
    }
    ggml_tensor * result = new_result(ctx, name, GGML_TYPE_F32, ne, {a, b});
    set_params(result, Conv3dParams{s0, s1, s2, p0, p1, p2, d0, d1, d2, n_channels, n_batch, n_channels_out});
    return as_node(result, GGML_OP_CONV_3D, {a, b});
}

ggml_tensor * ggml_conv_transpose_1d(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int s0, int p0,
                                     int d0) {
    const char * name = "ggml_conv_transpose_1d";
    GGML_SHAPE_CHECK(ggml_is_matrix(b) && a->ne[3] == 1, name, "an operand has too many dimensions", a, b);
    GGML_SHAPE_CHECK(a->ne[2] == b->ne[1], name, "kernel and data differ in channels", a, b);
    GGML_SHAPE_CHECK(s0 > 0 && p0 == 0 && d0 == 1, name, "only a stride is possible, no padding or dilation",
                     a, b);
    const ggml::Extent length = ggml::conv_transpose_output(b->ne[0], a->ne[0], s0);
    ggml_tensor * result = ggml::new_result(ctx, name, GGML_TYPE_F32, {length, a->ne[1], 1, 1}, {a, b});
    ggml::set_params(result, ggml::ConvTranspose1dParams{s0, p0, d0});
    return ggml::as_node(result, GGML_OP_CONV_TRANSPOSE_1D, {a, b});
}

ggml_tensor * ggml_conv_transpose_2d_p0(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int stride) {
    const char * name = "ggml_conv_transpose_2d_p0";
    GGML_SHAPE_CHECK(a->ne[3] == b->ne[2], name, "kernel and data differ in channels", a, b);
    GGML_SHAPE_CHECK(stride > 0, name, "the stride is not positive", a, b);
    const ggml::Extents ne = {ggml::conv_transpose_output(b->ne[0], a->ne[0], stride),
                              ggml::conv_transpose_output(b->ne[1], a->ne[1], stride), a->ne[2], b->ne[3]};
    ggml_tensor * result = ggml::new_result(ctx, name, GGML_TYPE_F32, ne, {a, b});
    ggml::set_params(result, ggml::ConvTranspose2dParams{stride});
    return ggml::as_node(result, GGML_OP_CONV_TRANSPOSE_2D, {a, b});
}
