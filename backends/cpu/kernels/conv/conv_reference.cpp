// CONV_2D, CONV_3D and CONV_2D_DW as a specification: the defining sums, in double precision.
#include "backends/cpu/kernels/conv/rooms.h"
#include "backends/cpu/kernels/conv/shape.h"

#include <cstring>

namespace ggml::cpu::conv {
namespace {

struct Position {
    int64_t n, oc, x, y, z;
};

float load_float(const char * at) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
}

// Products of one input channel with its kernel plane; taps that fall outside the input count as zero.
double channel_sum(const ConvShape & s, const Position & at, const char * src, const char * kernel) {
    double sum = 0;
    for (int64_t kz = 0; kz < s.kernel.size[2]; ++kz) {
        const int64_t z = s.origin(2, at.z) + kz * s.dilation[2];
        if (z < 0 || z >= s.src.size[2]) continue;
        for (int64_t ky = 0; ky < s.kernel.size[1]; ++ky) {
            const int64_t y = s.origin(1, at.y) + ky * s.dilation[1];
            if (y < 0 || y >= s.src.size[1]) continue;
            for (int64_t kx = 0; kx < s.kernel.size[0]; ++kx) {
                const int64_t x = s.origin(0, at.x) + kx * s.dilation[0];
                if (x < 0 || x >= s.src.size[0]) continue;
                const char * value =
                    src + size_t(x) * s.src.nb[0] + size_t(y) * s.src.nb[1] + size_t(z) * s.src.nb[2];
                const char * weight = kernel + size_t(kx) * s.kernel.nb[0] + size_t(ky) * s.kernel.nb[1] +
                                      size_t(kz) * s.kernel.nb[2];
                sum += double(load_float(value)) * double(kernel_element(s.kernel_type, weight));
            }
        }
    }
    return sum;
}

void compute(const ConvShape & s, const Position & at, bool depthwise) {
    const int64_t first = depthwise ? at.oc : 0, last = depthwise ? at.oc + 1 : s.ic;
    const char * kernel = s.kernel.data + size_t(at.oc) * s.kernel.nb_outer;
    double sum = 0;
    for (int64_t c = first; c < last; ++c) {
        const char * src = s.src.data + size_t(at.n) * s.src.nb_outer + size_t(c) * s.src.nb_channel;
        sum += channel_sum(s, at, src, kernel + size_t(c) * s.kernel.nb_channel);
    }
    const float result = float(sum);
    std::memcpy(s.dst.data + size_t(at.n) * s.dst.nb_outer + size_t(at.oc) * s.dst.nb_channel +
                    size_t(at.x) * s.dst.nb[0] + size_t(at.y) * s.dst.nb[1] + size_t(at.z) * s.dst.nb[2],
                &result, sizeof(result));
}

} // namespace

ggml_status conv_reference(const KernelContext &, ggml_tensor * dst) {
    const bool depthwise = dst->op == GGML_OP_CONV_2D_DW;
    const ConvShape s = dst->op == GGML_OP_CONV_3D ? conv_3d_shape(dst)
                        : depthwise                ? conv_2d_dw_shape(dst)
                                                   : conv_2d_shape(dst);
    Position at;
    for (at.n = 0; at.n < s.n; ++at.n) {
        for (at.oc = 0; at.oc < s.oc; ++at.oc) {
            for (at.z = 0; at.z < s.dst.size[2]; ++at.z) {
                for (at.y = 0; at.y < s.dst.size[1]; ++at.y) {
                    for (at.x = 0; at.x < s.dst.size[0]; ++at.x) compute(s, at, depthwise);
                }
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu::conv
