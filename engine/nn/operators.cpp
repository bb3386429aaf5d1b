#include "nn/operators.h"

#include "base/error.h"
#include "sd-ggml-ops.h"

namespace sd {
namespace {

ggml_tensor * checked(ggml_tensor * node) {
    if (node != nullptr) return node;
    throw Error({"E_GRAPH", {}, {}, std::string("a layer cannot be built: ") + ggml_ext_last_message(), {}});
}

} // namespace

ggml_tensor * modulate(Graph & g, ggml_tensor * x, ggml_tensor * scale, ggml_tensor * shift) {
    return checked(ggml_ext_modulate(g.ctx(), x, shift, scale));
}

ggml_tensor * rope_apply(Graph & g, ggml_tensor * x, ggml_tensor * pe, bool interleaved) {
    return checked(ggml_ext_rope_apply(g.ctx(), x, pe, interleaved));
}

ggml_tensor * channel_rms_norm(Graph & g, ggml_tensor * x, ggml_tensor * gamma, float eps, bool silu) {
    return checked(ggml_ext_channel_rms_norm(g.ctx(), x, gamma, eps, silu));
}

ggml_tensor * quantize_i8_convrot(Graph & g, ggml_tensor * x, int group) {
    return checked(ggml_quantize_i8_convrot(g.ctx(), x, group));
}

ggml_tensor * integer_product(Graph & g, const Linear & l, ggml_tensor * packed, ggml_tensor * bias) {
    ggml_context * ctx = g.ctx();
    if (l.kind == Linear::Kind::int8)
        return checked(ggml_mul_mat_i8_tensorwise(ctx, l.weight, packed, l.scale, bias, l.group, nullptr));
    if (l.kind == Linear::Kind::w4a4)
        return checked(ggml_mul_mat_w4_convrot(ctx, l.weight, packed, l.scale, nullptr, nullptr, nullptr,
                                               bias, l.group));
    return checked(ggml_mul_mat_w4_convrot(ctx, l.weight, packed, nullptr, l.codebook, l.channel, l.relative,
                                           bias, l.group));
}

} // namespace sd
