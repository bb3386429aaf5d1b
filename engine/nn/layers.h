// The layers of transformers as nodes of a graph. Shapes in ggml order, ne[0] first; everything F32.
#pragma once

#include "nn/graph.h"
#include "nn/linear.h"

#include <cstdint>

namespace sd {

// x / sqrt(mean(x^2 over ne[0]) + eps) * weight. weight: [ne[0]].
ggml_tensor * rms_norm(Graph & g, ggml_tensor * x, ggml_tensor * weight, float eps);

// x [heads * head_dim, tokens, batch] as [head_dim, heads, tokens, batch].
ggml_tensor * split_heads(Graph & g, ggml_tensor * x, int64_t head_dim);

// softmax(scale * q k^T + mask) v. q: [head_dim, heads, tokens, batch]; k and v: [head_dim, kv_heads,
// kv_tokens, batch], each head of which serves heads / kv_heads consecutive query heads. mask: F16
// [kv_tokens, tokens] or NULL. Result: [heads * head_dim, tokens, batch].
ggml_tensor * attention(Graph & g, ggml_tensor * q, ggml_tensor * k, ggml_tensor * v, ggml_tensor * mask,
                        float scale);

// silu(x Wgate) * (x Wup), then Wdown.
struct SwiGlu {
    Linear gate, up, down;
};
ggml_tensor * swiglu(Graph & g, const SwiGlu & layer, ggml_tensor * x);

} // namespace sd
