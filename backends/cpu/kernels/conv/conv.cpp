#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/conv/rooms.h"

namespace ggml::cpu {
namespace {

constexpr OpKernels kConv[] = {
    {GGML_OP_IM2COL, conv::im2col_supports, conv::im2col, conv::im2col_reference, conv::im2col_scratch},
    {GGML_OP_IM2COL_3D, conv::im2col_supports, conv::im2col, conv::im2col_reference, conv::im2col_scratch},
    {GGML_OP_COL2IM_1D, conv::col2im_1d_supports, conv::col2im_1d, conv::col2im_1d_reference},
    {GGML_OP_CONV_2D, conv::conv_supports, conv::conv_dense, conv::conv_reference, conv::conv_dense_scratch},
    {GGML_OP_CONV_3D, conv::conv_supports, conv::conv_dense, conv::conv_reference, conv::conv_dense_scratch},
    {GGML_OP_CONV_2D_DW, conv::conv_2d_dw_supports, conv::conv_2d_dw, conv::conv_reference,
     conv::conv_2d_dw_scratch},
    {GGML_OP_CONV_TRANSPOSE_1D, conv::conv_transpose_supports, conv::conv_transpose,
     conv::conv_transpose_reference, conv::conv_transpose_scratch},
    {GGML_OP_CONV_TRANSPOSE_2D, conv::conv_transpose_supports, conv::conv_transpose,
     conv::conv_transpose_reference, conv::conv_transpose_scratch},
};

} // namespace

Family family_conv() { return kConv; }

} // namespace ggml::cpu
