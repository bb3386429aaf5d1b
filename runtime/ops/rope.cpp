#include "runtime/ops/build.h"
#include "runtime/ops/params.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ggml {
namespace {

void check_rope(const ggml_tensor * a, const ggml_tensor * b, const ggml_tensor * c, const RopeParams & p) {
    const char * name = "ggml_rope";
    GGML_SHAPE_CHECK((p.mode & 1) == 0, name, "modes with bit 0 set do not exist", a, b, c);
    GGML_SHAPE_CHECK(p.n_dims > 0 && p.n_dims % 2 == 0 && p.n_dims <= a->ne[0], name,
                     "n_dims is not an even number up to the head size", a, b, c);
    GGML_SHAPE_CHECK(p.mode != GGML_ROPE_TYPE_VISION || p.n_dims == a->ne[0] / 2, name,
                     "vision rope needs n_dims to be half a head", a, b, c);
    GGML_SHAPE_CHECK(ggml_is_vector(b) && b->type == GGML_TYPE_I32, name, "positions are not an i32 vector",
                     a, b, c);
    const int64_t positions_per_token = p.mode & GGML_ROPE_TYPE_MROPE ? GGML_MROPE_SECTIONS : 1;
    GGML_SHAPE_CHECK(Extent(a->ne[2]) * positions_per_token == b->ne[0], name,
                     "the number of positions does not match the tokens", a, b, c);
    // Vision rope rotates the whole head, n_dims pairs; the other modes n_dims elements.
    const int64_t pairs = p.mode == GGML_ROPE_TYPE_VISION ? p.n_dims : p.n_dims / 2;
    GGML_SHAPE_CHECK(!c || (c->type == GGML_TYPE_F32 && c->ne[0] >= pairs), name,
                     "there is not one f32 frequency factor per pair", a, b, c);
}

ggml_tensor * rope(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, ggml_tensor * c, RopeParams params,
                   const int * sections, bool inplace) {
    check_rope(a, b, c, params);
    if (sections && (params.mode & GGML_ROPE_TYPE_MROPE)) {
        std::copy_n(sections, GGML_MROPE_SECTIONS, params.sections);
    }
    ggml_tensor * result = result_like(ctx, "ggml_rope", a, inplace);
    set_params(result, params);
    return as_node(result, GGML_OP_ROPE, {a, b, c});
}

// Base 10000 is the one of the RoFormer paper; the rest switches YaRN off.
RopeParams plain_rope(int n_dims, int mode) {
    return {0, n_dims, mode, 0, 0, 10000.0f, 1.0f, 0.0f, 1.0f, 0.0f, 0.0f, {}, 0};
}

// Index of the pair that turns `turns` times over the original context: solves
// turns * 2 pi = n_ctx * base^(-2 i / n_dims) for i.
float pair_of_turns(int n_dims, int n_ctx_orig, float turns, float base) {
    const float wavelength = float(n_ctx_orig) / (turns * 2.0f * std::numbers::pi_v<float>);
    return float(n_dims) * std::log(wavelength) / (2.0f * std::log(base));
}

} // namespace
} // namespace ggml

ggml_tensor * ggml_rope(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int n_dims, int mode) {
    return ggml::rope(ctx, a, b, nullptr, ggml::plain_rope(n_dims, mode), nullptr, false);
}

ggml_tensor * ggml_rope_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, int n_dims, int mode) {
    return ggml::rope(ctx, a, b, nullptr, ggml::plain_rope(n_dims, mode), nullptr, true);
}

ggml_tensor * ggml_rope_ext(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, ggml_tensor * c, int n_dims,
                            int mode, int n_ctx_orig, float freq_base, float freq_scale, float ext_factor,
                            float attn_factor, float beta_fast, float beta_slow) {
    return ggml::rope(ctx, a, b, c,
                      {0,
                       n_dims,
                       mode,
                       0,
                       n_ctx_orig,
                       freq_base,
                       freq_scale,
                       ext_factor,
                       attn_factor,
                       beta_fast,
                       beta_slow,
                       {},
                       0},
                      nullptr, false);
}

ggml_tensor * ggml_rope_ext_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, ggml_tensor * c,
                                    int n_dims, int mode, int n_ctx_orig, float freq_base, float freq_scale,
                                    float ext_factor, float attn_factor, float beta_fast, float beta_slow) {
    return ggml::rope(ctx, a, b, c,
                      {0,
                       n_dims,
                       mode,
                       0,
                       n_ctx_orig,
                       freq_base,
                       freq_scale,
                       ext_factor,
                       attn_factor,
                       beta_fast,
                       beta_slow,
                       {},
                       0},
                      nullptr, true);
}

ggml_tensor * ggml_rope_multi(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, ggml_tensor * c,
                              int n_dims, int sections[GGML_MROPE_SECTIONS], int mode, int n_ctx_orig,
                              float freq_base, float freq_scale, float ext_factor, float attn_factor,
                              float beta_fast, float beta_slow) {
    return ggml::rope(ctx, a, b, c,
                      {0,
                       n_dims,
                       mode,
                       0,
                       n_ctx_orig,
                       freq_base,
                       freq_scale,
                       ext_factor,
                       attn_factor,
                       beta_fast,
                       beta_slow,
                       {},
                       0},
                      sections, false);
}

ggml_tensor * ggml_rope_multi_inplace(ggml_context * ctx, ggml_tensor * a, ggml_tensor * b, ggml_tensor * c,
                                      int n_dims, int sections[GGML_MROPE_SECTIONS], int mode, int n_ctx_orig,
                                      float freq_base, float freq_scale, float ext_factor, float attn_factor,
                                      float beta_fast, float beta_slow) {
    return ggml::rope(ctx, a, b, c,
                      {0,
                       n_dims,
                       mode,
                       0,
                       n_ctx_orig,
                       freq_base,
                       freq_scale,
                       ext_factor,
                       attn_factor,
                       beta_fast,
                       beta_slow,
                       {},
                       0},
                      sections, true);
}

ggml_tensor * ggml_rope_set_offset(ggml_tensor * a, int n_offs) {
    const char * name = "ggml_rope_set_offset";
    GGML_SHAPE_CHECK(a->op == GGML_OP_ROPE, name, "not a rope node", a);
    auto params = ggml::get_params<ggml::RopeParams>(a);
    GGML_SHAPE_CHECK(params.mode != GGML_ROPE_TYPE_VISION, name, "vision rope rotates whole heads", a);
    GGML_SHAPE_CHECK(n_offs >= 0 && int64_t(n_offs) + params.n_dims <= a->ne[0], name,
                     "the rotated part reaches past the head", a);
    params.n_offs = n_offs;
    ggml::set_params(a, params);
    return a;
}

void ggml_rope_yarn_corr_dims(int n_dims, int n_ctx_orig, float freq_base, float beta_fast, float beta_slow,
                              float dims[2]) {
    const float first = std::floor(ggml::pair_of_turns(n_dims, n_ctx_orig, beta_fast, freq_base));
    const float last = std::ceil(ggml::pair_of_turns(n_dims, n_ctx_orig, beta_slow, freq_base));
    dims[0] = std::max(0.0f, first);
    dims[1] = std::min(float(n_dims - 1), last);
}
