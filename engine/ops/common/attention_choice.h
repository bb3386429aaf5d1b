// Which attention a layer gets: what was asked for where the device runs it, otherwise flash attention, and
// then the answer says so. The decision is made once, from tensors that need no storage, before the graph is
// built; a node that was built is never replaced by another algorithm.
//
//   const AttentionChoice choice = choose_attention(device, {AttentionKind::sage}, {q, k, v, nullptr,
//   scale}); if (!choice.note.empty()) warn_once(choice.note); y = build_attention(ctx, choice.use, {q, k, v,
//   nullptr, scale});
#pragma once

#include "ggml-ext.h"
#include "sd-ggml-ops.h"

#include <string>

namespace sd {

enum class AttentionKind { flash, sage, sol };

struct AttentionRequest {
    AttentionKind kind = AttentionKind::flash;
    int sage_mode = GGML_SAGE_ATTN_AUTO;
    float sol_tau = 1.0f;
};

// As for ggml_flash_attn_ext: q [head, tokens, heads, batch], k and v [head, kv_tokens, kv_heads, batch],
// mask NULL or F16 [kv_tokens, >= tokens, ...]. None of them needs storage.
struct Attention {
    ggml_tensor *q, *k, *v, *mask;
    float scale;
};

struct AttentionChoice {
    AttentionRequest use; // the request, or flash attention
    std::string note;     // empty: the request. "sage attention is not supported by CPU: flash attention is
                          // used (why)"
};

// Asks the device whether it runs the node. Register extensions with it first: being asked freezes what it
// has. Never fails: a request that cannot be a node at all, or has a mask, gets flash attention and the
// reason.
AttentionChoice choose_attention(ggml_backend_dev_t device, const AttentionRequest & request,
                                 const Attention & attention);

// F32 [head, heads, tokens, batch], of the requested kind whatever device will run it. NULL, with
// ggml_ext_last_message, when sage or sol attention does not take these tensors or there is a mask. Flash
// attention accumulates in F32.
ggml_tensor * build_attention(ggml_context * ctx, const AttentionRequest & request,
                              const Attention & attention);

} // namespace sd
