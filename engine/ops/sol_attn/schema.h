// "sd.sol_attn.v1": attention that computes only some blocks of keys exactly, after Sol-Attn (arXiv
// 2607.24027).
//
//   inputs     q, k, v F32 [128, tokens, heads, batch], contiguous, of one shape
//   result     F32 [128, heads, tokens, batch], close to softmax(scale * q.k) v
//
// Tokens are cut into blocks of 64; the last may be shorter. A block of queries reads its own block of keys,
// the two beside it and those whose proxy score is above the block's threshold exactly; every other block of
// keys stands for all of its tokens by the mean of its keys and the sum of its values. The higher tau, the
// fewer blocks are exact; one that is low enough makes the operator plain attention.
//
// No kernel is registered here for any device, so the CPU does not offer the operator;
// ops/common/attention_choice.h is how a model asks. docs/design/0005-approximate-attention.md says where
// each rule of the reference comes from.
#pragma once

#include "ggml-ext.h"

#include <cstdint>
#include <string>

namespace sd {

struct SolAttnAttrs {
    float scale; // positive, finite
    float tau;   // finite: standard deviations of the proxy scores above their mean
};

struct SolAttnInputs {
    const ggml_tensor * q;
    const ggml_tensor * k;
    const ggml_tensor * v;

    static SolAttnInputs of(const ggml_tensor * node) { return {node->src[0], node->src[1], node->src[2]}; }
};

// Why these cannot be a node, "" when they can. Metadata only, logs nothing.
std::string sol_attn_misfit(const SolAttnInputs & in, const SolAttnAttrs & attrs);

// NULL when memory runs out.
ggml_ext_op_t sol_attn_op();

ggml_status sol_attn_reference(ggml_tensor * node, void * user_data);

ggml_ext_status register_sol_attn(ggml_backend_dev_t device);

} // namespace sd
