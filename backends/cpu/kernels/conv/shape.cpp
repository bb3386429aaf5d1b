#include "backends/cpu/kernels/conv/shape.h"

#include "runtime/base/half.h"
#include "runtime/ops/params.h"

#include <cstring>

namespace ggml::cpu::conv {
namespace {

// Width, height, channel, outer in dimensions 0..3.
Operand planes(const ggml_tensor * t) {
    return {
        {t->ne[0], t->ne[1], 1}, {t->nb[0], t->nb[1], 0}, t->nb[2], t->nb[3], static_cast<char *>(t->data)};
}

// Width, height, depth in dimensions 0..2; channels and outer share dimension 3, channels first.
Operand volumes(const ggml_tensor * t, int64_t channels) {
    return {{t->ne[0], t->ne[1], t->ne[2]},
            {t->nb[0], t->nb[1], t->nb[2]},
            t->nb[3],
            t->nb[3] * size_t(channels),
            static_cast<char *>(t->data)};
}

} // namespace

ConvShape conv_2d_shape(const ggml_tensor * dst) {
    const auto p = get_params<Conv2dParams>(dst);
    const ggml_tensor *kernel = dst->src[0], *src = dst->src[1];
    return {planes(src), planes(kernel), planes(dst),     kernel->type,    src->ne[3],
            src->ne[2],  kernel->ne[3],  {p.s0, p.s1, 1}, {p.p0, p.p1, 0}, {p.d0, p.d1, 1}};
}

ConvShape conv_2d_dw_shape(const ggml_tensor * dst) {
    ConvShape s = conv_2d_shape(dst);
    s.kernel.nb_channel = 0;
    return s;
}

ConvShape conv_3d_shape(const ggml_tensor * dst) {
    const auto p = get_params<Conv3dParams>(dst);
    const ggml_tensor *kernel = dst->src[0], *src = dst->src[1];
    return {volumes(src, p.ic), volumes(kernel, p.ic), volumes(dst, p.oc), kernel->type, p.n, p.ic, p.oc,
            {p.s0, p.s1, p.s2}, {p.p0, p.p1, p.p2},    {p.d0, p.d1, p.d2}};
}

float kernel_element(ggml_type type, const char * at) {
    if (type == GGML_TYPE_F16) {
        uint16_t half;
        std::memcpy(&half, at, sizeof(half));
        return half_to_float(half);
    }
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
}

} // namespace ggml::cpu::conv
