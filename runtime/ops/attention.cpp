#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

namespace ggml {
namespace {

const char * const kName = "ggml_flash_attn_ext";

void check_mask(const ggml_tensor * q, const ggml_tensor * k, const ggml_tensor * mask) {
    GGML_SHAPE_CHECK(mask->type == GGML_TYPE_F16 && ggml_is_contiguous(mask), kName,
                     "the mask is not contiguous f16", q, k, mask);
    GGML_SHAPE_CHECK(mask->ne[0] >= k->ne[1] && mask->ne[1] >= q->ne[1], kName,
                     "the mask does not cover every query and key", q, k, mask);
    GGML_SHAPE_CHECK(repeats_into(mask->ne[2], q->ne[2]) && repeats_into(mask->ne[3], q->ne[3]), kName,
                     "the mask does not repeat along heads and batches", q, k, mask);
}

void check_is_attention(const char * name, const ggml_tensor * node, const ggml_tensor * operand) {
    GGML_SHAPE_CHECK(node->op == GGML_OP_FLASH_ATTN_EXT, name, "not a flash_attn_ext node", node, operand);
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_flash_attn_ext(ggml_context * ctx, ggml_tensor * q, ggml_tensor * k, ggml_tensor * v,
                                  ggml_tensor * mask, float scale, float max_bias, float logit_softcap) {
    const char * name = ggml::kName;
    GGML_SHAPE_CHECK(q->ne[0] == k->ne[0], name, "q and k differ in head size", q, k, v);
    GGML_SHAPE_CHECK(k->ne[1] == v->ne[1], name, "there is not one value per key", q, k, v);
    GGML_SHAPE_CHECK(ggml::repeats_into(k->ne[2], q->ne[2]) && ggml::repeats_into(v->ne[2], q->ne[2]), name,
                     "the heads of k or v do not repeat along those of q", q, k, v);
    GGML_SHAPE_CHECK(q->ne[3] == k->ne[3] && q->ne[3] == v->ne[3], name, "q, k and v differ in batches", q, k,
                     v);
    if (mask) ggml::check_mask(q, k, mask);
    GGML_SHAPE_CHECK(mask || !(max_bias > 0.0f), name, "max_bias needs a mask", q, k, v);

    // Heads before tokens, so that the result reshapes into one row per token.
    ggml_tensor * result =
        ggml::new_result(ctx, name, GGML_TYPE_F32, {v->ne[0], q->ne[2], q->ne[1], q->ne[3]}, {q, k, v, mask});
    ggml::set_params(result, ggml::FlashAttnParams{scale, max_bias, logit_softcap, GGML_PREC_DEFAULT});
    return ggml::as_node(result, GGML_OP_FLASH_ATTN_EXT, {q, k, v, mask});
}

void ggml_flash_attn_ext_set_prec(ggml_tensor * a, ggml_prec prec) {
    ggml::check_is_attention("ggml_flash_attn_ext_set_prec", a, nullptr);
    auto params = ggml::get_params<ggml::FlashAttnParams>(a);
    params.prec = prec;
    ggml::set_params(a, params);
}

ggml_prec ggml_flash_attn_ext_get_prec(const ggml_tensor * a) {
    ggml::check_is_attention("ggml_flash_attn_ext_get_prec", a, nullptr);
    return ggml_prec(ggml::get_params<ggml::FlashAttnParams>(a).prec);
}

void ggml_flash_attn_ext_add_sinks(ggml_tensor * a, ggml_tensor * sinks) {
    const char * name = "ggml_flash_attn_ext_add_sinks";
    ggml::check_is_attention(name, a, sinks);
    if (sinks) {
        GGML_SHAPE_CHECK(a->src[4] == nullptr, name, "the node already has sinks", a, sinks);
        GGML_SHAPE_CHECK(sinks->ne[0] == a->src[0]->ne[2] && sinks->type == GGML_TYPE_F32, name,
                         "there is not one f32 sink per head", a, sinks);
    }
    a->src[4] = sinks;
}
