#include "quantize/presets.h"

#include "models/krea2/config.h"
#include "quantize/patterns.h"

#include <algorithm>

namespace sd {
namespace {

// Tables of tokens are no products: an INT8 table saves little and costs every token.
constexpr std::string_view kTables[] = {"*embed_tokens",
                                        "*token_embd",
                                        "*token_embedding",
                                        "*tok_embeddings",
                                        "*word_embeddings",
                                        "*position_embedding*",
                                        "*.wte",
                                        "wte",
                                        "shared",
                                        "*.shared",
                                        "*relative_attention_bias"};

const std::vector<Preset> & presets() {
    static const std::vector<Preset> table = {
        {"krea2", {"krea2"}, krea2_name, {"first*", "last*", "tmlp*", "tproj*", "txtmlp*", "txtfusion*"}},
        {"qwen3-vl",
         {"qwen3_vl", "qwen3", "llm"},
         nullptr,
         {"*visual*", "*vision*", "v.*", "mm.*", "*lm_head", "output"}},
        {"z-image",
         {"z_image"},
         nullptr,
         {"*x_embedder*", "*t_embedder*", "*cap_embedder*", "*final_layer*", "*adaLN_modulation*"}},
        {"qwen-image",
         {"qwen_image"},
         nullptr,
         {"img_in*", "txt_in*", "time_text_embed*", "norm_out*", "proj_out*",
          "transformer_blocks.0.img_mod.1"}},
        {"flux2-klein",
         {"flux2"},
         nullptr,
         {"img_in*", "txt_in*", "time_in*", "guidance_in*", "final_layer*", "*_stream_modulation*"}},
        {"wan",
         {"wan"},
         nullptr,
         {"patch_embedding*", "text_embedding*", "time_embedding*", "time_projection*", "head*", "img_emb*",
          "face_adapter*", "face_encoder*", "motion_encoder*", "pose_patch_embedding*"}},
        {"anima",
         {"anima"},
         nullptr,
         {"x_embedder*", "t_embedder*", "final_layer*", "llm_adapter*", "*adaln_modulation*", "blocks.0.*"}},
        {"chroma",
         {"chroma"},
         nullptr,
         {"distilled_guidance_layer*", "img_in*", "txt_in*", "final_layer*", "nerf_*"}},
        {"ltx",
         {"ltx"},
         nullptr,
         {"*adaln*", "*patchify_proj*", "proj_out*", "*caption_projection*", "*scale_shift_table*",
          "*to_gate_logits*", "transformer_blocks.0.*", "transformer_blocks.1.*"}},
        // What goes by such names in most models: inputs, outputs, and what steers all blocks.
        {"generic", {}, nullptr, {"*embed*",       "*norm*",       "*modulation*", "*adaln*",
                                  "*adaLN*",       "first*",       "last*",        "*img_in*",
                                  "*txt_in*",      "*time_in*",    "*vector_in*",  "*guidance_in*",
                                  "*final_layer*", "*final_proj*", "*lm_head",     "head*",
                                  "*.head",        "*.head.*",     "*visual*",     "*vision*",
                                  "proj_out*",     "*pooler*",     "*router*"}},
    };
    return table;
}

} // namespace

std::string preset_names() {
    std::string names;
    for (const Preset & preset : presets()) names += (names.empty() ? "" : ", ") + std::string(preset.name);
    return names;
}

const Preset & preset_named(const std::string & name) {
    for (const Preset & preset : presets()) {
        if (name == preset.name) return preset;
    }
    throw Error({"E_ARGUMENT",
                 {},
                 {},
                 "--preset: there is no preset " + in_quotes(name, 40),
                 preset_names() + "; none: what --include and --rules say"});
}

const Preset & preset_for(const std::string & family) {
    for (const Preset & preset : presets()) {
        const auto & families = preset.families;
        if (std::find(families.begin(), families.end(), family) != families.end()) return preset;
    }
    return presets().back();
}

std::string_view kept_by(const Preset & preset, const std::string & name) {
    constexpr std::string_view kEnd = ".weight";
    std::string known = name;
    if (preset.canonical != nullptr) {
        known = preset.canonical(name + std::string(kEnd));
        if (known.ends_with(kEnd)) known.resize(known.size() - kEnd.size());
    }
    for (const std::string_view pattern : preset.keep) {
        if (matches(pattern, known)) return pattern;
    }
    for (const std::string_view pattern : kTables) {
        if (matches(pattern, known)) return pattern;
    }
    return {};
}

} // namespace sd
