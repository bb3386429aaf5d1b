#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

namespace ggml {
namespace {

ggml_tensor * norm(ggml_context * ctx, const char * name, ggml_op op, ggml_tensor * a, float eps,
                   bool inplace) {
    ggml_tensor * result = result_like(ctx, name, a, inplace);
    set_params(result, NormParams{eps});
    return as_node(result, op, {a});
}

ggml_tensor * group_norm(ggml_context * ctx, ggml_tensor * a, int n_groups, float eps, bool inplace) {
    GGML_SHAPE_CHECK(n_groups > 0, "ggml_group_norm", "the number of groups is not positive", a);
    ggml_tensor * result = result_like(ctx, "ggml_group_norm", a, inplace);
    set_params(result, GroupNormParams{n_groups, eps});
    return as_node(result, GGML_OP_GROUP_NORM, {a});
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_norm(ggml_context * ctx, ggml_tensor * a, float eps) {
    return ggml::norm(ctx, "ggml_norm", GGML_OP_NORM, a, eps, false);
}

ggml_tensor * ggml_norm_inplace(ggml_context * ctx, ggml_tensor * a, float eps) {
    return ggml::norm(ctx, "ggml_norm", GGML_OP_NORM, a, eps, true);
}

ggml_tensor * ggml_rms_norm(ggml_context * ctx, ggml_tensor * a, float eps) {
    return ggml::norm(ctx, "ggml_rms_norm", GGML_OP_RMS_NORM, a, eps, false);
}

ggml_tensor * ggml_rms_norm_inplace(ggml_context * ctx, ggml_tensor * a, float eps) {
    return ggml::norm(ctx, "ggml_rms_norm", GGML_OP_RMS_NORM, a, eps, true);
}

ggml_tensor * ggml_l2_norm(ggml_context * ctx, ggml_tensor * a, float eps) {
    return ggml::norm(ctx, "ggml_l2_norm", GGML_OP_L2_NORM, a, eps, false);
}

ggml_tensor * ggml_l2_norm_inplace(ggml_context * ctx, ggml_tensor * a, float eps) {
    return ggml::norm(ctx, "ggml_l2_norm", GGML_OP_L2_NORM, a, eps, true);
}

ggml_tensor * ggml_group_norm(ggml_context * ctx, ggml_tensor * a, int n_groups, float eps) {
    return ggml::group_norm(ctx, a, n_groups, eps, false);
}

ggml_tensor * ggml_group_norm_inplace(ggml_context * ctx, ggml_tensor * a, int n_groups, float eps) {
    return ggml::group_norm(ctx, a, n_groups, eps, true);
}
