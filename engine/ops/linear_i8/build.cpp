// The graph builders of sd.linear_i8.v1.
#include "ops/common/attrs.h"
#include "ops/linear_i8/schema.h"
#include "ops/quantize_i8_convrot/schema.h"
#include "sd-ggml-ops.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

ggml_tensor * build(ggml_context * ctx, ggml_tensor * weight, ggml_tensor * x, ggml_tensor * weight_scale,
                    ggml_tensor * bias, int group, ggml_tensor * x_scale, float factor) {
    LinearI8Attrs attrs = {};
    attrs.group = attrs.packed_group = group == 0 ? 1 : group;
    attrs.factor = factor;
    attrs.kind = LinearI8Input::floats;
    if (const ggml_tensor * packer = packed_rows_of(x)) {
        const auto packed = attrs_of<QuantizeI8ConvrotAttrs>(packer);
        attrs.kind = LinearI8Input::packed;
        attrs.packed_group = packed.group;
        std::copy(packed.row_ne, packed.row_ne + 3, attrs.rows);
    } else if (x != nullptr) {
        if (x->type == GGML_TYPE_I8) attrs.kind = LinearI8Input::codes;
        std::copy(x->ne + 1, x->ne + GGML_MAX_DIMS, attrs.rows);
    }
    ggml_tensor * inputs[] = {weight, x, weight_scale, bias, x_scale};
    return ggml_ext_op_create(ctx, linear_i8_op(), inputs, 5, &attrs, sizeof(attrs));
}

bool is_vector(const ggml_tensor * t, int64_t n) {
    return t->type == GGML_TYPE_F32 && ggml_nelements(t) == n && ggml_is_contiguous(t);
}

} // namespace
} // namespace sd

extern "C" ggml_tensor * ggml_mul_mat_i8_tensorwise(ggml_context * ctx, ggml_tensor * weight,
                                                    ggml_tensor * input, ggml_tensor * weight_scale,
                                                    ggml_tensor * bias, int convrot_group,
                                                    ggml_tensor * input_scale) {
    return sd::build(ctx, weight, input, weight_scale, bias, convrot_group, input_scale, 1.0f);
}

extern "C" ggml_tensor * ggml_ext_linear_i8_tensorwise(ggml_context * ctx, ggml_tensor * x,
                                                       ggml_tensor * weight, ggml_tensor * weight_scale,
                                                       ggml_tensor * bias, int convrot_group, float scale) {
    // What ggml's own operators below would stop the program for is left to the operator, which refuses it.
    const bool fits = std::isfinite(scale) && scale != 0.0f && std::isfinite(1.0f / scale) && x != nullptr &&
                      x->type == GGML_TYPE_F32;
    if (scale == 1.0f || !fits)
        return sd::build(ctx, weight, x, weight_scale, bias, convrot_group, nullptr, scale);
    if (weight == nullptr || (bias != nullptr && !sd::is_vector(bias, weight->ne[1])))
        return sd::build(ctx, weight, x, weight_scale, bias, convrot_group, nullptr, 1.0f);

    if (!ggml_is_contiguous(x)) x = ggml_cont(ctx, x);
    ggml_tensor * packed =
        ggml_quantize_i8_convrot(ctx, ggml_scale(ctx, x, scale), convrot_group == 0 ? 1 : convrot_group);
    if (packed == nullptr) return nullptr;
    ggml_tensor * y = sd::build(ctx, weight, packed, weight_scale, nullptr, convrot_group, nullptr, 1.0f);
    if (y == nullptr) return nullptr;
    y = ggml_scale(ctx, y, 1.0f / scale);
    return bias != nullptr ? ggml_add(ctx, y, ggml_reshape_1d(ctx, bias, ggml_nelements(bias))) : y;
}
