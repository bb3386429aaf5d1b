#include "models/common/rename.h"
#include "models/qwen3_vl/config.h"

namespace sd {

std::string qwen3_vl_name(std::string_view from) {
    std::string name(from);
    // Longest first: each is the beginning of one before it.
    rename_beginning(name, {{"text_encoders.qwen3vl_4b.transformer.", ""}, {"text_encoders.llm.", ""}});
    rename_beginning(name, {{"model.language_model.", ""},
                            {"language_model.model.", ""},
                            {"language_model.", ""},
                            {"model.", ""}});
    if (rename_beginning(
            name, {{"token_embd.", "embed_tokens."}, {"output_norm.", "norm."}, {"output.", "lm_head."}})) {
        return name;
    }
    if (!rename_beginning(name, {{"blk.", "layers."}})) return name;
    rename_part(name, {{".attn_norm.", ".input_layernorm."},
                       {".attn_q_norm.", ".self_attn.q_norm."},
                       {".attn_k_norm.", ".self_attn.k_norm."},
                       {".attn_q.", ".self_attn.q_proj."},
                       {".attn_k.", ".self_attn.k_proj."},
                       {".attn_v.", ".self_attn.v_proj."},
                       {".attn_output.", ".self_attn.o_proj."},
                       {".ffn_norm.", ".post_attention_layernorm."},
                       {".ffn_gate.", ".mlp.gate_proj."},
                       {".ffn_up.", ".mlp.up_proj."},
                       {".ffn_down.", ".mlp.down_proj."}});
    return name;
}

} // namespace sd
