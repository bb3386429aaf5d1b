// The graph builder of sd.linear_w4_convrot.v1.
#include "ops/common/attrs.h"
#include "ops/linear_w4/schema.h"
#include "ops/quantize_i8_convrot/schema.h"
#include "sd-ggml-ops.h"

#include <algorithm>

extern "C" ggml_tensor * ggml_mul_mat_w4_convrot(ggml_context * ctx, ggml_tensor * weight,
                                                 ggml_tensor * input, ggml_tensor * weight_scale,
                                                 ggml_tensor * codebook, ggml_tensor * channel_scale,
                                                 ggml_tensor * relative_scale, ggml_tensor * bias,
                                                 int convrot_group) {
    if (input != nullptr && input->type == GGML_TYPE_F32) {
        input = ggml_quantize_i8_convrot(ctx, input, convrot_group);
        if (input == nullptr) return nullptr;
    }
    sd::LinearW4Attrs attrs = {};
    attrs.group = convrot_group;
    attrs.format = weight_scale != nullptr ? sd::LinearW4Format::w4a4 : sd::LinearW4Format::w4a8;
    // Group 0 fits no weight: activations of unknown origin are refused.
    if (const ggml_tensor * packer = sd::packed_rows_of(input)) {
        const auto packed = sd::attrs_of<sd::QuantizeI8ConvrotAttrs>(packer);
        attrs.packed_group = packed.group;
        std::copy(packed.row_ne, packed.row_ne + 3, attrs.rows);
    }
    ggml_tensor * inputs[] = {weight, input, weight_scale, codebook, channel_scale, relative_scale, bias};
    return ggml_ext_op_create(ctx, sd::linear_w4_op(), inputs, sd::kLinearW4Inputs, &attrs, sizeof(attrs));
}
