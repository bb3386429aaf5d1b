#include "ops/rope_apply/schema.h"

#include "ops/common/attrs.h"
#include "ops/common/register.h"
#include "ops/common/rows.h"
#include "ops/common/shape_text.h"
#include "sd-ggml-ops.h"

#include <algorithm>

namespace sd {
namespace {

bool infer(const ggml_tensor * const * inputs, int n_inputs, const void *, ggml_ext_output * output,
           ggml_ext_why_t why, void *) {
    if (n_inputs != 2) return ggml_ext_refuse(why, "%d inputs, not x and pe", n_inputs);
    const ggml_tensor *x = inputs[0], *pe = inputs[1];
    const auto refuse = [&](const char * problem) {
        return ggml_ext_refuse(why, "%s: x is %s, pe is %s", problem, shape_text(x).c_str(),
                               shape_text(pe).c_str());
    };
    if (x == nullptr || pe == nullptr || x->type != GGML_TYPE_F32 || pe->type != GGML_TYPE_F32)
        return refuse("both inputs must be F32");
    if (!is_float_aligned(x) || !is_float_aligned(pe)) return refuse("an input lies between floats");
    if (pe->ne[0] != 2 || pe->ne[1] != 2) return refuse("pe does not consist of 2 x 2 matrices");
    if (pe->ne[2] > x->ne[0] / 2) return refuse("pe has more pairs than the rows of x");
    if (pe->ne[3] != x->ne[2]) return refuse("pe and x differ in tokens");
    std::copy(x->ne, x->ne + GGML_MAX_DIMS, output->ne);
    return true;
}

const float & element(const ggml_tensor * t, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    return row_start(t, {i1, i2, i3})[i0 * float_step(t, 0)];
}

} // namespace

ggml_status rope_apply_reference(ggml_tensor * node, void *) {
    const RopeApplyInputs in = RopeApplyInputs::of(node);
    const bool interleaved = attrs_of<RopeApplyAttrs>(node).interleaved != 0;
    const int64_t pairs = in.pairs();
    auto * y = static_cast<float *>(node->data);
    Row r = {};
    for (int64_t row = 0; row < ggml_nrows(node); ++row, next_row(node, r), y += node->ne[0]) {
        const auto x = [&](int64_t i0) { return element(in.x, i0, r.i1, r.i2, r.i3); };
        for (int64_t i = 0; i < pairs; ++i) {
            const int64_t ia = interleaved ? 2 * i : i, ib = interleaved ? 2 * i + 1 : i + pairs;
            const auto m = [&](int64_t mr, int64_t mc) { return element(in.pe, mc, mr, i, r.i2); };
            const float a0 = x(ia) * m(0, 0), a1 = x(ib) * m(0, 1);
            const float b0 = x(ia) * m(1, 0), b1 = x(ib) * m(1, 1);
            y[ia] = a0 + a1;
            y[ib] = b0 + b1;
        }
        for (int64_t i = 2 * pairs; i < node->ne[0]; ++i) y[i] = x(i);
    }
    return GGML_STATUS_SUCCESS;
}

ggml_ext_op_t rope_apply_op() {
    ggml_ext_op_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = "sd.rope_apply.v1";
    desc.attr_size = sizeof(RopeApplyAttrs);
    desc.infer = infer;
    desc.reference = rope_apply_reference;
    return register_op_once(desc);
}

} // namespace sd

extern "C" ggml_tensor * ggml_ext_rope_apply(ggml_context * ctx, ggml_tensor * x, ggml_tensor * pe,
                                             bool interleaved) {
    ggml_tensor * inputs[] = {x, pe};
    const sd::RopeApplyAttrs attrs = {interleaved ? 1 : 0};
    return ggml_ext_op_create(ctx, sd::rope_apply_op(), inputs, 2, &attrs, sizeof(attrs));
}
