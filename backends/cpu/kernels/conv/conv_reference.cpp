// CONV_2D, CONV_3D and CONV_2D_DW as a specification: the defining sums, in double precision.
#include "backends/cpu/kernels/conv/exact.h"
#include "backends/cpu/kernels/conv/rooms.h"

namespace ggml::cpu::conv {

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
                    for (at.x = 0; at.x < s.dst.size[0]; ++at.x) exact_output(s, at, depthwise);
                }
            }
        }
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace ggml::cpu::conv
