#include "ops/sol_attn/schema.h"

#include "ops/common/attrs.h"
#include "ops/common/register.h"
#include "ops/common/rows.h"
#include "ops/common/shape_text.h"
#include "sd-ggml-ops.h"

#include <cmath>

namespace sd {
namespace {

std::string misfit_of_one(const ggml_tensor * t, const char * name) {
    const std::string is = std::string(name) + " is " + shape_text(t);
    if (t == nullptr) return is + "; q, k and v are needed";
    if (t->type != GGML_TYPE_F32) return is + ", not f32";
    if (t->ne[0] != 128) return is + ": only heads of 128 elements are possible";
    if (ggml_nelements(t) == 0) return is + ", which is empty";
    if (!ggml_is_contiguous(t) || !is_float_aligned(t)) return is + ", which is not contiguous";
    return "";
}

bool infer(const ggml_tensor * const * inputs, int n_inputs, const void * bytes, ggml_ext_output * output,
           ggml_ext_why_t why, void *) {
    if (n_inputs != 3) return ggml_ext_refuse(why, "%d inputs, not q, k and v", n_inputs);
    const SolAttnInputs in = {inputs[0], inputs[1], inputs[2]};
    const std::string misfit = sol_attn_misfit(in, attrs_of<SolAttnAttrs>(bytes));
    if (!misfit.empty()) return ggml_ext_refuse(why, "%s", misfit.c_str());
    output->ne[0] = in.q->ne[0];
    output->ne[1] = in.q->ne[2];
    output->ne[2] = in.q->ne[1];
    output->ne[3] = in.q->ne[3];
    return true;
}

} // namespace

std::string sol_attn_misfit(const SolAttnInputs & in, const SolAttnAttrs & attrs) {
    if (!std::isfinite(attrs.scale) || attrs.scale <= 0.0f)
        return "scale " + std::to_string(attrs.scale) + " is not positive and finite";
    if (!std::isfinite(attrs.tau)) return "tau " + std::to_string(attrs.tau) + " is not finite";
    std::string misfit = misfit_of_one(in.q, "q");
    if (misfit.empty()) misfit = misfit_of_one(in.k, "k");
    if (misfit.empty()) misfit = misfit_of_one(in.v, "v");
    if (!misfit.empty()) return misfit;
    for (const ggml_tensor * t : {in.k, in.v}) {
        if (!ggml_are_same_shape(t, in.q)) {
            return std::string(t == in.k ? "k" : "v") + " is " + shape_text(t) + " and q is " +
                   shape_text(in.q) + ": shapes differ";
        }
    }
    return "";
}

ggml_ext_op_t sol_attn_op() {
    ggml_ext_op_desc desc = {};
    desc.struct_size = sizeof(desc);
    desc.name = "sd.sol_attn.v1";
    desc.attr_size = sizeof(SolAttnAttrs);
    desc.infer = infer;
    desc.reference = sol_attn_reference;
    return register_op_once(desc);
}

ggml_ext_status register_sol_attn(ggml_backend_dev_t) {
    return sol_attn_op() != nullptr ? GGML_EXT_SUCCESS : GGML_EXT_NO_MEMORY;
}

} // namespace sd

extern "C" ggml_tensor * ggml_sol_attn(ggml_context * ctx, ggml_tensor * q, ggml_tensor * k, ggml_tensor * v,
                                       float scale, float tau) {
    const sd::SolAttnAttrs attrs = {scale, tau};
    ggml_tensor * inputs[] = {q, k, v};
    return ggml_ext_op_create(ctx, sd::sol_attn_op(), inputs, 3, &attrs, sizeof(attrs));
}
