#include "nn/layers.h"

namespace sd {

ggml_tensor * rms_norm(Graph & g, ggml_tensor * x, ggml_tensor * weight, float eps) {
    return ggml_mul(g.ctx(), ggml_rms_norm(g.ctx(), x, eps), weight);
}

ggml_tensor * split_heads(Graph & g, ggml_tensor * x, int64_t head_dim) {
    return ggml_reshape_4d(g.ctx(), x, head_dim, x->ne[0] / head_dim, x->ne[1], x->ne[2]);
}

ggml_tensor * attention(Graph & g, ggml_tensor * q, ggml_tensor * k, ggml_tensor * v, ggml_tensor * mask,
                        float scale) {
    ggml_context * ctx = g.ctx();
    const auto heads_outside = [&](ggml_tensor * t) { return ggml_permute(ctx, t, 0, 2, 1, 3); };
    ggml_tensor * y = ggml_flash_attn_ext(ctx, heads_outside(q), heads_outside(k), heads_outside(v), mask,
                                          scale, 0.0f, 0.0f);
    return ggml_reshape_3d(ctx, y, y->ne[0] * y->ne[1], y->ne[2], y->ne[3]);
}

ggml_tensor * swiglu(Graph & g, const SwiGlu & l, ggml_tensor * x) {
    ggml_tensor * gate = linear(g, l.gate, x);
    ggml_tensor * up = linear(g, l.up, x);
    return linear(g, l.down, ggml_swiglu_split(g.ctx(), gate, up));
}

} // namespace sd
