// "sd.sage_attn.v1": attention with INT8 products of queries and keys, after SageAttention 2 and 2++.
//
//   inputs     q F32 [head, tokens, heads, batch]; k, v F32 or F16 [head, kv_tokens, kv_heads, batch]; head
//   is
//              64 or 128, kv_heads divides heads: query head h reads head h / (heads / kv_heads)
//   result     F32 [head, heads, tokens, batch], close to softmax(scale * q.k) v over all kv_tokens
//   layouts    rows of adjacent elements, any strides between rows
//   modes      see enum ggml_sage_attn_mode; AUTO leaves the choice to the device's kernel
//
// A node is one algorithm: a device that cannot run its mode does not support the node, and nothing else is
// computed in its place. No kernel is registered here for any device, so the CPU does not offer the operator;
// ops/common/attention_choice.h is how a model asks. docs/design/0005-approximate-attention.md says where
// each rule of the reference comes from.
#pragma once

#include "ggml-ext.h"

#include <cstdint>
#include <string>

namespace sd {

struct SageAttnAttrs {
    float scale;  // positive, finite
    int32_t mode; // ggml_sage_attn_mode
};

struct SageAttnInputs {
    const ggml_tensor * q;
    const ggml_tensor * k;
    const ggml_tensor * v;

    // Query heads that share one head of keys.
    int64_t group() const { return q->ne[2] / k->ne[2]; }
    static SageAttnInputs of(const ggml_tensor * node) { return {node->src[0], node->src[1], node->src[2]}; }
};

// Why these cannot be a node, "" when they can. Metadata only, logs nothing.
std::string sage_attn_misfit(const SageAttnInputs & in, const SageAttnAttrs & attrs);

// NULL when memory runs out.
ggml_ext_op_t sage_attn_op();

ggml_status sage_attn_reference(ggml_tensor * node, void * user_data);

ggml_ext_status register_sage_attn(ggml_backend_dev_t device);

} // namespace sd
