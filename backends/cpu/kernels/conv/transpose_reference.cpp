#include "backends/cpu/kernels/conv/rooms.h"
#include "backends/cpu/kernels/conv/shape.h"
#include "backends/cpu/kernels/conv/transpose_shape.h"
#include "runtime/ops/params.h"

#include <cstring>

namespace ggml::cpu::conv {

TransposeShape::TransposeShape(ggml_tensor * node) : kernel(node->src[0]), src(node->src[1]), dst(node) {
    // Dimension `d` of a tensor, counted as if 1-dimensional nodes had a height in dimension 1.
    const int flat = node->op == GGML_OP_CONV_TRANSPOSE_1D ? 1 : 0;
    const auto size = [&](const ggml_tensor * t, int d) {
        return flat && d == 1 ? int64_t(1) : d == 3 && flat ? t->ne[2] : t->ne[d > 1 ? d - flat : d];
    };
    const auto bytes = [&](const ggml_tensor * t, int d) {
        return flat && d == 1 ? size_t(0) : t->nb[d > 1 ? d - flat : d];
    };
    stride_x =
        flat ? get_params<ConvTranspose1dParams>(node).s0 : get_params<ConvTranspose2dParams>(node).stride;
    stride_y = flat ? 1 : stride_x;
    width = size(src, 0), height = size(src, 1), ic = size(src, 2), n = size(src, 3);
    kernel_width = size(kernel, 0), kernel_height = size(kernel, 1), oc = size(kernel, 2);
    out_width = size(dst, 0), out_height = size(dst, 1);
    src_row = bytes(src, 1), src_channel = bytes(src, 2), src_image = bytes(src, 3);
    dst_row = bytes(dst, 1), dst_channel = bytes(dst, 2), dst_image = bytes(dst, 3);
    kernel_row = bytes(kernel, 1), kernel_oc = bytes(kernel, 2), kernel_ic = bytes(kernel, 3);
}

namespace {

// The tap that input coordinate `i` reaches output coordinate `o` through, or -1.
int64_t tap_of(int64_t o, int64_t i, int64_t stride, int64_t kernel) {
    const int64_t tap = o - i * stride;
    return tap >= 0 && tap < kernel ? tap : -1;
}

double output_sum(const TransposeShape & s, int64_t n, int64_t c, int64_t x, int64_t y) {
    double sum = 0;
    for (int64_t iy = 0; iy < s.height; ++iy) {
        const int64_t ky = tap_of(y, iy, s.stride_y, s.kernel_height);
        if (ky < 0) continue;
        for (int64_t ix = 0; ix < s.width; ++ix) {
            const int64_t kx = tap_of(x, ix, s.stride_x, s.kernel_width);
            if (kx < 0) continue;
            for (int64_t i = 0; i < s.ic; ++i) {
                float value;
                std::memcpy(&value,
                            static_cast<const char *>(s.src->data) + size_t(n) * s.src_image +
                                size_t(i) * s.src_channel + size_t(iy) * s.src_row +
                                size_t(ix) * s.src->nb[0],
                            sizeof(value));
                const char * weight = static_cast<const char *>(s.kernel->data) + size_t(i) * s.kernel_ic +
                                      size_t(c) * s.kernel_oc + size_t(ky) * s.kernel_row +
                                      size_t(kx) * s.kernel->nb[0];
                sum += double(value) * double(kernel_element(s.kernel->type, weight));
            }
        }
    }
    return sum;
}

} // namespace

ggml_status conv_transpose_reference(const KernelContext &, ggml_tensor * dst) {
    const TransposeShape s(dst);
    for (int64_t n = 0; n < s.n; ++n) {
        for (int64_t c = 0; c < s.oc; ++c) {
            for (int64_t y = 0; y < s.out_height; ++y) {
                for (int64_t x = 0; x < s.out_width; ++x) {
                    const float value = float(output_sum(s, n, c, x, y));
                    std::memcpy(static_cast<char *>(dst->data) + size_t(n) * s.dst_image +
                                    size_t(c) * s.dst_channel + size_t(y) * s.dst_row +
                                    size_t(x) * dst->nb[0],
                                &value, sizeof(value));
                }
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu::conv
