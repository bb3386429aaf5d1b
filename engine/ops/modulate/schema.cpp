#include "ops/modulate/schema.h"

#include "ops/common/register.h"
#include "ops/common/rows.h"
#include "ops/common/shape_text.h"
#include "sd-ggml-ops.h"

#include <algorithm>

namespace sd {
namespace {

bool fits(const ggml_tensor * x, const ggml_tensor * factor, const char * name, ggml_ext_why_t why) {
    if (factor->type != GGML_TYPE_F32 || !ggml_can_repeat(factor, x)) {
        return ggml_ext_refuse(why, "%s is %s, which is not F32 or does not repeat over x, %s", name,
                               shape_text(factor).c_str(), shape_text(x).c_str());
    }
    return true;
}

bool infer(const ggml_tensor * const * inputs, int n_inputs, const void *, ggml_ext_output * output,
           ggml_ext_why_t why, void *) {
    if (n_inputs != 3) return ggml_ext_refuse(why, "%d inputs, not x, scale and shift", n_inputs);
    const ModulateInputs in = {inputs[0], inputs[1], inputs[2]};
    if (in.x == nullptr || in.scale == nullptr) {
        return ggml_ext_refuse(why, "x is %s and scale is %s; both are needed", shape_text(in.x).c_str(),
                               shape_text(in.scale).c_str());
    }
    if (in.x->type != GGML_TYPE_F32)
        return ggml_ext_refuse(why, "x is %s, not F32", shape_text(in.x).c_str());
    if (!fits(in.x, in.scale, "scale", why)) return false;
    if (in.shift != nullptr && !fits(in.x, in.shift, "shift", why)) return false;
    for (const ggml_tensor * t : {in.x, in.scale, in.shift}) {
        if (t != nullptr && !is_float_aligned(t))
            return ggml_ext_refuse(why, "%s '%s' lies between floats", shape_text(t).c_str(), t->name);
    }
    std::copy(in.x->ne, in.x->ne + GGML_MAX_DIMS, output->ne);
    return true;
}

float repeated(const ggml_tensor * t, int64_t i0, Row r) {
    return repeated_row(t, r)[i0 % t->ne[0] * float_step(t, 0)];
}

} // namespace

ggml_status modulate_reference(ggml_tensor * node, void *) {
    const ModulateInputs in = ModulateInputs::of(node);
    auto * y = static_cast<float *>(node->data);
    Row r = {};
    for (int64_t row = 0; row < ggml_nrows(node); ++row, next_row(node, r)) {
        for (int64_t i0 = 0; i0 < node->ne[0]; ++i0) {
            const float x = repeated(in.x, i0, r);
            const float product = x * repeated(in.scale, i0, r);
            const float scaled = x + product;
            *y++ = in.shift != nullptr ? scaled + repeated(in.shift, i0, r) : scaled;
        }
    }
    return GGML_STATUS_SUCCESS;
}

ggml_ext_op_t modulate_op() {
    ggml_ext_op_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = "sd.modulate.v1";
    desc.infer = infer;
    desc.reference = modulate_reference;
    return register_op_once(desc);
}

} // namespace sd

extern "C" ggml_tensor * ggml_ext_modulate(ggml_context * ctx, ggml_tensor * x, ggml_tensor * shift,
                                           ggml_tensor * scale) {
    ggml_tensor * inputs[] = {x, scale, shift};
    return ggml_ext_op_create(ctx, sd::modulate_op(), inputs, 3, nullptr, 0);
}
