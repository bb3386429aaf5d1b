#include "models/common/rename.h"
#include "models/krea2/config.h"

namespace sd {
namespace {

// Diffusers' names, and the original ones.
constexpr Rename kBeginnings[] = {{"img_in.", "first."},
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
                                  {"final_layer.scale_shift_table", "last.modulation.lin"}};
constexpr Rename kEndings[] = {{".scale_shift_table", ".mod.lin"},
                               {".norm1.weight", ".prenorm.scale"},
                               {".norm2.weight", ".postnorm.scale"},
                               {".attn.norm_q.weight", ".attn.qknorm.qnorm.scale"},
                               {".attn.norm_k.weight", ".attn.qknorm.knorm.scale"}};
constexpr Rename kParts[] = {
    {".attn.to_q.", ".attn.wq."},      {".attn.to_k.", ".attn.wk."},     {".attn.to_v.", ".attn.wv."},
    {".attn.to_gate.", ".attn.gate."}, {".attn.to_out.0.", ".attn.wo."}, {".attn.to_out.", ".attn.wo."},
    {".ff.gate.", ".mlp.gate."},       {".ff.up.", ".mlp.up."},          {".ff.down.", ".mlp.down."}};

bool in_a_block(const std::string & original) {
    return original.starts_with("blocks.") || original.starts_with("txtfusion.");
}

} // namespace

std::string krea2_name(std::string_view from) {
    std::string name(from);
    rename_beginning(name, kBeginnings);
    if (!in_a_block(name)) return name;
    rename_ending(name, kEndings);
    rename_part(name, kParts);
    return name;
}

std::string krea2_diffusers_name(std::string_view original) {
    std::string name(original);
    if (in_a_block(name)) {
        for (const Rename & rule : kEndings) {
            if (rename_ending(name, {Rename{rule.to, rule.from}})) break;
        }
        // Of two names of one part the first is the usual one.
        for (const Rename & rule : kParts) {
            if (rename_part(name, {Rename{rule.to, rule.from}})) break;
        }
    }
    for (const Rename & rule : kBeginnings) {
        if (rename_beginning(name, {Rename{rule.to, rule.from}})) break;
    }
    return name;
}

} // namespace sd
