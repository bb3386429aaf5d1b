#include "backends/cpu/kernels/conv/im2col_shape.h"
#include "backends/cpu/kernels/conv/rooms.h"
#include "runtime/base/half.h"
#include "runtime/ops/params.h"

#include <cstring>

namespace ggml::cpu::conv {

Im2colShape::Im2colShape(ggml_tensor * node) : image(node->src[1]), dst(node) {
    const ggml_tensor * k = node->src[0];
    if (node->op == GGML_OP_IM2COL_3D) {
        const auto p = get_params<Im2col3dParams>(node);
        channels = p.ic;
        n = channels > 0 ? image->ne[3] / channels : 0;
        const int64_t values[][3] = {{image->ne[0], image->ne[1], image->ne[2]},
                                     {k->ne[0], k->ne[1], k->ne[2]},
                                     {dst->ne[1], dst->ne[2], n > 0 ? dst->ne[3] / n : 0},
                                     {p.s0, p.s1, p.s2},
                                     {p.p0, p.p1, p.p2},
                                     {p.d0, p.d1, p.d2}};
        for (int i = 0; i < 3; ++i) {
            in[i] = values[0][i], kernel[i] = values[1][i], out[i] = values[2][i];
            stride[i] = values[3][i], pad[i] = values[4][i], dilation[i] = values[5][i];
            nb[i] = image->nb[i];
        }
        nb_channel = image->nb[3];
        nb_image = image->nb[3] * size_t(channels);
        return;
    }
    const auto p = get_params<Im2colParams>(node);
    const bool flat = p.is_2d != 1;
    channels = flat ? image->ne[1] : image->ne[2];
    n = flat ? image->ne[2] : image->ne[3];
    const int64_t values[][3] = {{image->ne[0], flat ? 1 : image->ne[1], 1},
                                 {k->ne[0], flat ? 1 : k->ne[1], 1},
                                 {dst->ne[1], flat ? 1 : dst->ne[2], 1},
                                 {p.s0, flat ? 1 : p.s1, 1},
                                 {p.p0, flat ? 0 : p.p1, 0},
                                 {p.d0, flat ? 1 : p.d1, 1}};
    for (int i = 0; i < 3; ++i) {
        in[i] = values[0][i], kernel[i] = values[1][i], out[i] = values[2][i];
        stride[i] = values[3][i], pad[i] = values[4][i], dilation[i] = values[5][i];
    }
    nb[0] = image->nb[0], nb[1] = flat ? 0 : image->nb[1], nb[2] = 0;
    nb_channel = flat ? image->nb[1] : image->nb[2];
    nb_image = flat ? image->nb[2] : image->nb[3];
}

namespace {

float image_value(const Im2colShape & s, int64_t n, int64_t c, const int64_t (&at)[3]) {
    size_t offset = size_t(n) * s.nb_image + size_t(c) * s.nb_channel;
    for (int i = 0; i < 3; ++i) {
        if (at[i] < 0 || at[i] >= s.in[i]) return 0.0f;
        offset += size_t(at[i]) * s.nb[i];
    }
    const char * p = static_cast<const char *>(s.image->data) + offset;
    if (s.image->type == GGML_TYPE_F16) {
        uint16_t half;
        std::memcpy(&half, p, sizeof(half));
        return half_to_float(half);
    }
    float value;
    std::memcpy(&value, p, sizeof(value));
    return value;
}

// Element number `i` of the contiguous result.
float result_value(const Im2colShape & s, int64_t i) {
    const auto digit = [&i](int64_t size) {
        const int64_t d = i % size;
        i /= size;
        return d;
    };
    int64_t k[3], o[3], at[3];
    for (int d = 0; d < 3; ++d) k[d] = digit(s.kernel[d]);
    const int64_t c = digit(s.channels);
    for (int d = 0; d < 3; ++d) o[d] = digit(s.out[d]);
    for (int d = 0; d < 3; ++d) at[d] = o[d] * s.stride[d] + k[d] * s.dilation[d] - s.pad[d];
    return image_value(s, i, c, at);
}

} // namespace

ggml_status im2col_reference(const KernelContext &, ggml_tensor * dst) {
    const Im2colShape s(dst);
    for (int64_t i = 0; i < ggml_nelements(dst); ++i) {
        const float value = result_value(s, i);
        if (dst->type == GGML_TYPE_F32)
            static_cast<float *>(dst->data)[i] = value;
        else
            static_cast<uint16_t *>(dst->data)[i] = float_to_half(value);
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu::conv
