#include "models/common/rename.h"
#include "models/krea2/config.h"

namespace sd {

std::string krea2_name(std::string_view from) {
    std::string name(from);
    rename_beginning(name, {{"img_in.", "first."},
                            {"time_embed.linear_1.", "tmlp.0."},
                            {"time_embed.linear_2.", "tmlp.2."},
                            {"time_mod_proj.", "tproj.1."},
                            {"txt_in.norm.weight", "txtmlp.0.scale"},
                            {"txt_in.linear_1.", "txtmlp.1."},
                            {"txt_in.linear_2.", "txtmlp.3."},
                            {"text_fusion.", "txtfusion."},
                            {"transformer_blocks.", "blocks."},
                            {"final_layer.linear.", "last.linear."},
                            {"final_layer.norm.weight", "last.norm.scale"},
                            {"final_layer.scale_shift_table", "last.modulation.lin"}});
    if (!name.starts_with("blocks.") && !name.starts_with("txtfusion.")) return name;
    rename_ending(name, {{".scale_shift_table", ".mod.lin"},
                         {".norm1.weight", ".prenorm.scale"},
                         {".norm2.weight", ".postnorm.scale"},
                         {".attn.norm_q.weight", ".attn.qknorm.qnorm.scale"},
                         {".attn.norm_k.weight", ".attn.qknorm.knorm.scale"}});
    rename_part(name, {{".attn.to_q.", ".attn.wq."},
                       {".attn.to_k.", ".attn.wk."},
                       {".attn.to_v.", ".attn.wv."},
                       {".attn.to_gate.", ".attn.gate."},
                       {".attn.to_out.0.", ".attn.wo."},
                       {".attn.to_out.", ".attn.wo."},
                       {".ff.gate.", ".mlp.gate."},
                       {".ff.up.", ".mlp.up."},
                       {".ff.down.", ".mlp.down."}});
    return name;
}

} // namespace sd
