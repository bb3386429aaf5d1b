// CONV_2D_DW, in both memory orders ggml knows: width innermost, and channels innermost.
#include "backends/cpu/kernels/conv/depthwise.h"
#include "backends/cpu/kernels/conv/rooms.h"
#include "runtime/base/math.h"

namespace ggml::cpu::conv {
namespace {

bool channels_innermost(const ConvShape & s) {
    return s.src.nb_channel == sizeof(float) && s.dst.nb_channel == sizeof(float) &&
           s.src.nb[0] != sizeof(float);
}

// The kernel as floats: [channel][tap], or [tap][channel].
void load_kernel(const ConvShape & s, bool tap_major, float * out) {
    const int64_t width = s.kernel.size[0], taps = width * s.kernel.size[1];
    for (int64_t c = 0; c < s.oc; ++c) {
        for (int64_t t = 0; t < taps; ++t) {
            const char * at = s.kernel.data + size_t(c) * s.kernel.nb_outer +
                              size_t(t % width) * s.kernel.nb[0] + size_t(t / width) * s.kernel.nb[1];
            out[tap_major ? t * s.oc + c : c * taps + t] = kernel_element(s.kernel_type, at);
        }
    }
}

} // namespace

ggml_status conv_2d_dw(const KernelContext & ctx, ggml_tensor * dst) {
    const ConvShape s = conv_2d_dw_shape(dst);
    const bool channels_last = channels_innermost(s);
    auto * kernel = reinterpret_cast<float *>(ctx.scratch.data());
    load_kernel(s, channels_last, kernel);

    const int64_t taps = s.kernel.size[0] * s.kernel.size[1], height = s.dst.size[1];
    const int64_t planes = channels_last ? s.n : s.n * s.oc;
    const int64_t row_work = s.dst.size[0] * taps * (channels_last ? s.oc : 1);
    ctx.team.parallel_for(
        planes * height, 1 + kParallelGrain / (row_work + 1), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t plane = i / height, y = i % height;
                if (channels_last)
                    depthwise_row_channels(s, kernel, plane, y);
                else
                    depthwise_row(s, kernel + plane % s.oc * taps, plane / s.oc, plane % s.oc, y);
            }
        });
    return GGML_STATUS_SUCCESS;
}

size_t conv_2d_dw_scratch(const ggml_tensor * dst, int) {
    return saturating_mul(ggml_nelements(dst->src[0]), sizeof(float));
}

bool conv_2d_dw_supports(const ggml_tensor * dst) {
    const ggml_tensor *kernel = dst->src[0], *src = dst->src[1];
    if (src->type != GGML_TYPE_F32 || dst->type != GGML_TYPE_F32) return false;
    if (kernel->type != GGML_TYPE_F32 && kernel->type != GGML_TYPE_F16) return false;
    if (ggml_is_empty(dst)) return true;
    const ConvShape s = conv_2d_dw_shape(dst);
    for (size_t i = 0; i < 2; ++i) {
        if (s.stride[i] < 1 || s.dilation[i] < 1 || s.pad[i] < 0) return false;
    }
    for (size_t nb : {s.src.nb[0], s.src.nb[1], s.src.nb_channel, s.src.nb_outer, s.dst.nb[0], s.dst.nb[1],
                      s.dst.nb_channel, s.dst.nb_outer}) {
        if (nb % sizeof(float) != 0) return false;
    }
    const bool width_innermost = s.src.nb[0] == sizeof(float) && s.dst.nb[0] == sizeof(float);
    return (width_innermost || channels_innermost(s)) && kernel->ne[2] == 1 && kernel->ne[3] == src->ne[2] &&
           dst->ne[2] == src->ne[2] && dst->ne[3] == src->ne[3];
}

} // namespace ggml::cpu::conv
