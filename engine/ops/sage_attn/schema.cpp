#include "ops/sage_attn/schema.h"

#include "ops/common/attrs.h"
#include "ops/common/register.h"
#include "ops/common/shape_text.h"
#include "sd-ggml-ops.h"

#include <cmath>

namespace sd {
namespace {

// Elements of a row are neighbours, and every one has the address of its type.
bool has_plain_rows(const ggml_tensor * t) {
    const size_t size = ggml_type_size(t->type);
    size_t all = t->view_offs;
    for (const size_t nb : t->nb) all |= nb;
    return t->nb[0] == size && all % size == 0; // sizes are powers of two
}

std::string misfit_of_one(const ggml_tensor * t, const char * name, bool may_be_f16) {
    const std::string is = std::string(name) + " is " + shape_text(t);
    if (t == nullptr) return is + "; q, k and v are needed";
    if (t->type != GGML_TYPE_F32 && !(may_be_f16 && t->type == GGML_TYPE_F16))
        return is + (may_be_f16 ? ", not f32 or f16" : ", not f32");
    if (ggml_nelements(t) == 0) return is + ", which is empty";
    if (!has_plain_rows(t)) return is + ", whose rows are not adjacent elements";
    return "";
}

std::string misfit_of_attrs(const SageAttnAttrs & attrs) {
    if (!std::isfinite(attrs.scale) || attrs.scale <= 0.0f)
        return "scale " + std::to_string(attrs.scale) + " is not positive and finite";
    if (attrs.mode < GGML_SAGE_ATTN_AUTO || attrs.mode > GGML_SAGE_ATTN_2_PLUS_PLUS)
        return "mode " + std::to_string(attrs.mode) + " is none of enum ggml_sage_attn_mode";
    return "";
}

bool infer(const ggml_tensor * const * inputs, int n_inputs, const void * bytes, ggml_ext_output * output,
           ggml_ext_why_t why, void *) {
    if (n_inputs != 3) return ggml_ext_refuse(why, "%d inputs, not q, k and v", n_inputs);
    const SageAttnInputs in = {inputs[0], inputs[1], inputs[2]};
    const std::string misfit = sage_attn_misfit(in, attrs_of<SageAttnAttrs>(bytes));
    if (!misfit.empty()) return ggml_ext_refuse(why, "%s", misfit.c_str());
    output->ne[0] = in.q->ne[0];
    output->ne[1] = in.q->ne[2];
    output->ne[2] = in.q->ne[1];
    output->ne[3] = in.q->ne[3];
    return true;
}

} // namespace

std::string sage_attn_misfit(const SageAttnInputs & in, const SageAttnAttrs & attrs) {
    std::string misfit = misfit_of_attrs(attrs);
    if (misfit.empty()) misfit = misfit_of_one(in.q, "q", false);
    if (misfit.empty()) misfit = misfit_of_one(in.k, "k", true);
    if (misfit.empty()) misfit = misfit_of_one(in.v, "v", true);
    if (!misfit.empty()) return misfit;
    const std::string q = "q is " + shape_text(in.q), k = "k is " + shape_text(in.k);
    if (in.q->ne[0] != 64 && in.q->ne[0] != 128) return q + ": heads of 64 or 128 elements are possible";
    if (in.k->ne[0] != in.q->ne[0]) return k + " and " + q + ": heads differ in size";
    if (!ggml_are_same_shape(in.k, in.v)) return k + " and v is " + shape_text(in.v) + ": shapes differ";
    if (in.k->ne[3] != in.q->ne[3]) return k + " and " + q + ": batches differ";
    if (in.q->ne[2] % in.k->ne[2] != 0) return k + " and " + q + ": heads of k do not divide those of q";
    return "";
}

ggml_ext_op_t sage_attn_op() {
    ggml_ext_op_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = "sd.sage_attn.v1";
    desc.attr_size = sizeof(SageAttnAttrs);
    desc.infer = infer;
    desc.reference = sage_attn_reference;
    return register_op_once(desc);
}

ggml_ext_status register_sage_attn(ggml_backend_dev_t) {
    return sage_attn_op() != nullptr ? GGML_EXT_SUCCESS : GGML_EXT_NO_MEMORY;
}

} // namespace sd

extern "C" ggml_tensor * ggml_sage_attn(ggml_context * ctx, ggml_tensor * q, ggml_tensor * k, ggml_tensor * v,
                                        float scale, int mode) {
    const sd::SageAttnAttrs attrs = {scale, mode};
    ggml_tensor * inputs[] = {q, k, v};
    return ggml_ext_op_create(ctx, sd::sage_attn_op(), inputs, 3, &attrs, sizeof(attrs));
}
