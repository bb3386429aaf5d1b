#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

namespace ggml {
namespace {

ggml_tensor * scale(ggml_context * ctx, ggml_tensor * a, float s, float b, bool inplace) {
    GGML_SHAPE_CHECK(has_padded_rows(a), "ggml_scale", "a has gaps other than between its rows", a);
    ggml_tensor * result = result_like(ctx, "ggml_scale", a, inplace);
    set_params(result, ScaleParams{s, b});
    return as_node(result, GGML_OP_SCALE, {a});
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_scale(ggml_context * ctx, ggml_tensor * a, float s) {
    return ggml::scale(ctx, a, s, 0.0f, false);
}

ggml_tensor * ggml_scale_inplace(ggml_context * ctx, ggml_tensor * a, float s) {
    return ggml::scale(ctx, a, s, 0.0f, true);
}

ggml_tensor * ggml_scale_bias(ggml_context * ctx, ggml_tensor * a, float s, float b) {
    return ggml::scale(ctx, a, s, b, false);
}

ggml_tensor * ggml_scale_bias_inplace(ggml_context * ctx, ggml_tensor * a, float s, float b) {
    return ggml::scale(ctx, a, s, b, true);
}

// In place only, as programs that clamp and then read a expect.
ggml_tensor * ggml_clamp(ggml_context * ctx, ggml_tensor * a, float min, float max) {
    ggml_tensor * result = ggml_view_tensor(ctx, a);
    ggml::set_params(result, ggml::ClampParams{min, max});
    return ggml::as_node(result, GGML_OP_CLAMP, {a});
}
