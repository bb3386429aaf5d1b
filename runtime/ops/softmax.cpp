#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

namespace ggml {
namespace {

void check_mask(const ggml_tensor * a, const ggml_tensor * mask) {
    const char * name = "ggml_soft_max_ext";
    GGML_SHAPE_CHECK(mask->type == GGML_TYPE_F16 || mask->type == GGML_TYPE_F32, name,
                     "the mask is neither f16 nor f32", a, mask);
    GGML_SHAPE_CHECK(ggml_is_contiguous(mask), name, "the mask is not contiguous", a, mask);
    GGML_SHAPE_CHECK(mask->ne[0] == a->ne[0] && mask->ne[1] >= a->ne[1], name,
                     "the mask does not cover the rows of a", a, mask);
    GGML_SHAPE_CHECK(repeats_into(mask->ne[2], a->ne[2]) && repeats_into(mask->ne[3], a->ne[3]), name,
                     "the mask does not repeat into a", a, mask);
}

ggml_tensor * soft_max(ggml_context * ctx, ggml_tensor * a, ggml_tensor * mask, SoftMaxParams params,
                       bool inplace) {
    const char * name = mask ? "ggml_soft_max_ext" : "ggml_soft_max";
    GGML_SHAPE_CHECK(ggml_is_contiguous(a), name, "a is not contiguous", a, mask);
    if (mask) check_mask(a, mask);
    GGML_SHAPE_CHECK(mask || !(params.max_bias > 0.0f), name, "max_bias needs a mask", a, mask);
    ggml_tensor * result = result_like(ctx, name, a, inplace);
    set_params(result, params);
    return as_node(result, GGML_OP_SOFT_MAX, {a, mask});
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_soft_max(ggml_context * ctx, ggml_tensor * a) {
    return ggml::soft_max(ctx, a, nullptr, {1.0f, 0.0f}, false);
}

ggml_tensor * ggml_soft_max_inplace(ggml_context * ctx, ggml_tensor * a) {
    return ggml::soft_max(ctx, a, nullptr, {1.0f, 0.0f}, true);
}

ggml_tensor * ggml_soft_max_ext(ggml_context * ctx, ggml_tensor * a, ggml_tensor * mask, float scale,
                                float max_bias) {
    return ggml::soft_max(ctx, a, mask, {scale, max_bias}, false);
}

ggml_tensor * ggml_soft_max_ext_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * mask, float scale,
                                        float max_bias) {
    return ggml::soft_max(ctx, a, mask, {scale, max_bias}, true);
}

void ggml_soft_max_add_sinks(ggml_tensor * a, ggml_tensor * sinks) {
    const char * name = "ggml_soft_max_add_sinks";
    GGML_SHAPE_CHECK(a->op == GGML_OP_SOFT_MAX, name, "not a soft_max node", a, sinks);
    if (sinks) {
        GGML_SHAPE_CHECK(a->src[2] == nullptr, name, "the node already has sinks", a, sinks);
        GGML_SHAPE_CHECK(sinks->ne[0] == a->src[0]->ne[2] && sinks->type == GGML_TYPE_F32, name,
                         "there is not one f32 sink per head", a, sinks);
    }
    a->src[2] = sinks;
}
