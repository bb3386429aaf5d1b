#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

#include <cmath>

namespace ggml {
namespace {

ggml_tensor * fill(ggml_context * ctx, ggml_tensor * a, float value, bool inplace) {
    GGML_SHAPE_CHECK(a->type == GGML_TYPE_F32 || a->type == GGML_TYPE_F16, "ggml_fill",
                     "a is neither f32 nor f16", a);
    GGML_SHAPE_CHECK(ggml_is_contiguous(a), "ggml_fill", "a is not contiguous", a);
    ggml_tensor * result = result_like(ctx, "ggml_fill", a, inplace);
    set_params(result, FillParams{value});
    return as_node(result, GGML_OP_FILL, {a});
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_fill(ggml_context * ctx, ggml_tensor * a, float c) { return ggml::fill(ctx, a, c, false); }

ggml_tensor * ggml_fill_inplace(ggml_context * ctx, ggml_tensor * a, float c) {
    return ggml::fill(ctx, a, c, true);
}

// The count is computed in float, as callers that size their buffers with ggml's formula expect.
ggml_tensor * ggml_arange(ggml_context * ctx, float start, float stop, float step) {
    const float steps = std::ceil((stop - start) / step);
    if (!(stop > start && step > 0.0f && steps < 9e18f)) {
        GGML_ABORT("ggml_arange: no finite number of steps from %g to %g by %g", double(start), double(stop),
                   double(step));
    }
    ggml_tensor * result = ggml::new_result(ctx, "ggml_arange", GGML_TYPE_F32, {int64_t(steps), 1, 1, 1}, {});
    ggml::set_params(result, ggml::ArangeParams{start, stop, step});
    return ggml::as_node(result, GGML_OP_ARANGE, {});
}

ggml_tensor * ggml_timestep_embedding(ggml_context * ctx, ggml_tensor * timesteps, int dim, int max_period) {
    const char * name = "ggml_timestep_embedding";
    GGML_SHAPE_CHECK(dim > 0 && max_period > 0, name, "the dimension or the longest period is not positive",
                     timesteps);
    ggml_tensor * result =
        ggml::new_result(ctx, name, GGML_TYPE_F32, {dim, timesteps->ne[0], 1, 1}, {timesteps});
    ggml::set_params(result, ggml::TimestepEmbeddingParams{dim, max_period});
    return ggml::as_node(result, GGML_OP_TIMESTEP_EMBEDDING, {timesteps});
}
