#include "ops/common/attention_choice.h"

#include "ggml-cpp.h"
#include "ops/sage_attn/schema.h"
#include "ops/sol_attn/schema.h"

namespace sd {
namespace {

const char * name_of(AttentionKind kind) {
    switch (kind) {
    case AttentionKind::flash: return "flash attention";
    case AttentionKind::sage: return "sage attention";
    case AttentionKind::sol: return "sol attention";
    }
    return "attention";
}

// "" when the request can be a node.
std::string misfit(const AttentionRequest & request, const Attention & a) {
    if (request.kind == AttentionKind::flash) return "";
    if (a.mask != nullptr) return "it takes no mask";
    return request.kind == AttentionKind::sage
               ? sage_attn_misfit({a.q, a.k, a.v}, {a.scale, request.sage_mode})
               : sol_attn_misfit({a.q, a.k, a.v}, {a.scale, request.sol_tau});
}

// Builds the node in a context of its own, for the question alone.
bool device_runs(ggml_backend_dev_t device, const AttentionRequest & request, const Attention & attention) {
    const ggml_context_ptr ctx(ggml_init({2 * ggml_tensor_overhead(), nullptr, /*no_alloc=*/true}));
    if (ctx == nullptr) return false;
    const ggml_tensor * node = build_attention(ctx.get(), request, attention);
    return node != nullptr && ggml_backend_dev_supports_op(device, node);
}

} // namespace

AttentionChoice choose_attention(ggml_backend_dev_t device, const AttentionRequest & request,
                                 const Attention & attention) {
    if (request.kind == AttentionKind::flash) return {request, ""};
    std::string reason = misfit(request, attention);
    if (reason.empty()) {
        if (device_runs(device, request, attention)) return {request, ""};
        reason = "the device has no kernel for this node";
    }
    return {AttentionRequest(), std::string(name_of(request.kind)) + " is not supported by " +
                                    ggml_backend_dev_name(device) + ": flash attention is used (" + reason +
                                    ")"};
}

ggml_tensor * build_attention(ggml_context * ctx, const AttentionRequest & request, const Attention & a) {
    // A mask is one input too many for the two operators, which they refuse in their own words.
    ggml_tensor * inputs[] = {a.q, a.k, a.v, a.mask};
    const int n_inputs = a.mask != nullptr ? 4 : 3;
    if (request.kind == AttentionKind::sage) {
        const SageAttnAttrs attrs = {a.scale, request.sage_mode};
        return ggml_ext_op_create(ctx, sage_attn_op(), inputs, n_inputs, &attrs, sizeof(attrs));
    }
    if (request.kind == AttentionKind::sol) {
        const SolAttnAttrs attrs = {a.scale, request.sol_tau};
        return ggml_ext_op_create(ctx, sol_attn_op(), inputs, n_inputs, &attrs, sizeof(attrs));
    }
    ggml_tensor * node = ggml_flash_attn_ext(ctx, a.q, a.k, a.v, a.mask, a.scale, 0.0f, 0.0f);
    ggml_flash_attn_ext_set_prec(node, GGML_PREC_F32);
    return node;
}

} // namespace sd
