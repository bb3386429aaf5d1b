// Which layers are chosen, in which format, and what is said about the others.
#include "quantize/test_quantize.h"

#include "quantize/patterns.h"
#include "quantize/presets.h"

namespace sd {
namespace {

using test::refusal_of;
using test::TestModel;

class QuantizeSelection : public test::QuantizeTest {
  protected:
    Selection select(const std::string & file, const SelectionRequest & request) const {
        const Checkpoint checkpoint = open(path(file));
        Selection selection = select_layers(checkpoint, find_quant_modules(checkpoint), request);
        for (ChosenLayer & l : selection.layers) l.weight = nullptr; // they end here
        return selection;
    }
    std::string refusal_of_selection(const std::string & file, const SelectionRequest & request) const {
        return short_line(refusal_of([&] { select(file, request); }));
    }

    // "name format/group, ..."
    static std::string text(const Selection & selection) {
        std::string list;
        for (const ChosenLayer & l : selection.layers)
            list += (list.empty() ? "" : ", ") + l.name + " " + layer_format_name(l.format) + "/" +
                    std::to_string(l.group);
        return list;
    }
    static std::string reasons(const Selection & selection) {
        std::string list;
        for (const KeptLayer & l : selection.kept) list += (list.empty() ? "" : ", ") + l.name + ": " + l.why;
        return list;
    }

    // Of matrices [2, 64].
    void put_names(const std::string & file, const std::vector<std::string> & names) {
        std::vector<Weight> weights;
        for (const std::string & name : names) weights.push_back({name + ".weight", 2, 64});
        put_weights(file, weights);
    }
};

SelectionRequest int8(const std::string & preset = "", const std::string & include = "",
                      const std::string & exclude = "") {
    return {"int8-convrot", 0, preset, include, exclude, ""};
}

TEST(quantize_patterns, stars_are_any_characters_and_marks_one) {
    for (const char * yes :
         {"blocks.0.*", "*", "blocks.0.up", "*up", "b*0*", "blocks.?.up", "*.*.*", "**s.0*up*"})
        EXPECT_TRUE(matches(yes, "blocks.0.up")) << yes;
    for (const char * no : {"", "blocks.0.", "blocks.0.up.*", "?", "*down", "blocks.??.up", "up", "*.*.*.*"})
        EXPECT_FALSE(matches(no, "blocks.0.up")) << no;
    EXPECT_TRUE(matches("", ""));
    EXPECT_TRUE(matches("***", ""));
    // A matcher that tries everything would not end.
    EXPECT_FALSE(matches(std::string(200, '*') + "a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
    EXPECT_EQ(pattern_list("--x", " a* , b").size(), 2u);
    EXPECT_EQ(refusal_of([] { pattern_list("--x", "a,,b"); }), "--x: a pattern between commas is empty");
}

TEST(quantize_presets, keep_what_publishers_keep_whatever_the_naming) {
    const Preset & krea2 = preset_for("krea2");
    for (const char * kept : {"first", "last.linear", "tmlp.0", "tproj.1", "txtmlp.3", "txtfusion.projector",
                              "img_in", "time_embed.linear_1", "text_fusion.refiner_blocks.0.attn.to_q"})
        EXPECT_NE(kept_by(krea2, kept), "") << kept;
    for (const char * chosen : {"blocks.0.attn.wq", "blocks.27.mlp.down", "transformer_blocks.3.attn.to_q"})
        EXPECT_EQ(kept_by(krea2, chosen), "") << chosen;
    EXPECT_EQ(kept_by(preset_for("qwen3_vl"), "model.layers.0.mlp.up_proj"), "");
    EXPECT_EQ(kept_by(preset_for("qwen3_vl"), "model.visual.blocks.0.attn.qkv"), "*visual*");
    EXPECT_EQ(kept_by(preset_for("qwen3_vl"), "model.embed_tokens"), "*embed_tokens");
    EXPECT_EQ(kept_by(preset_for("qwen_image"), "transformer_blocks.0.img_mod.1"),
              "transformer_blocks.0.img_mod.1");
    EXPECT_EQ(kept_by(preset_for("qwen_image"), "transformer_blocks.10.img_mod.1"), "");
    EXPECT_EQ(kept_by(preset_for("flux2"), "double_stream_modulation_img.lin"), "*_stream_modulation*");
    EXPECT_EQ(kept_by(preset_for("z_image"), "layers.0.adaLN_modulation.0"), "*adaLN_modulation*");
    EXPECT_EQ(kept_by(preset_for("wan"), "head.head"), "head*");
    EXPECT_EQ(std::string(preset_for("some other").name), "generic");
    EXPECT_EQ(refusal_of([] { preset_named("krea3"); }), "--preset: there is no preset \"krea3\" (" +
                                                             preset_names() +
                                                             "; none: what --include and --rules say)");
}

TEST_F(QuantizeSelection, the_family_is_found_in_the_file) {
    put_names("m.safetensors",
              {"model.diffusion_model.img_in", "model.diffusion_model.double_stream_modulation_img.lin",
               "model.diffusion_model.double_blocks.0.img_attn.qkv",
               "text_encoders.llm.layers.0.self_attn.q_proj", "text_encoders.llm.embed_tokens"});
    const Selection s = select("m.safetensors", int8());
    EXPECT_EQ(text(s), "model.diffusion_model.double_blocks.0.img_attn.qkv int8-convrot/64, "
                       "text_encoders.llm.layers.0.self_attn.q_proj int8-convrot/64");
    EXPECT_EQ(
        reasons(s),
        "model.diffusion_model.double_stream_modulation_img.lin: preset flux2-klein (*_stream_modulation*), "
        "model.diffusion_model.img_in: preset flux2-klein (img_in*), "
        "text_encoders.llm.embed_tokens: preset qwen3-vl (*embed_tokens)");
    ASSERT_EQ(s.presets.size(), 2u);
    EXPECT_EQ(s.presets[0], "FLUX.2: flux2-klein");
    EXPECT_EQ(text(select("m.safetensors", int8("none", "*img_in"))),
              "model.diffusion_model.img_in int8-convrot/64");
}

TEST_F(QuantizeSelection, rules_go_before_exclude_before_include_before_the_preset) {
    put_names("m.safetensors", {"blocks.0.a", "blocks.0.b", "blocks.1.a", "blocks.1.b", "first", "last"});
    put("rules", "# formats\n\nblocks.0.a = w4a8/16\r\n*.a=w4a4 # later\nfirst = int8\n last = keep\n");
    SelectionRequest r = int8("", "last,first", "blocks.*");
    r.rules_file = path("rules");
    Selection s = select("m.safetensors", r);
    EXPECT_EQ(text(s), "blocks.0.a w4a8/16, blocks.1.a w4a4/64, first int8/1");
    EXPECT_EQ(reasons(s), "blocks.0.b: --exclude, blocks.1.b: --exclude, last: rule in line 6");
    EXPECT_EQ(s.layers[0].why, "rule in line 3");
    EXPECT_EQ(s.warnings.size(), 0u);
    r.rules_file.clear();
    EXPECT_EQ(text(select("m.safetensors", r)), "first int8-convrot/64, last int8-convrot/64");
    EXPECT_EQ(text(select("m.safetensors", int8())),
              "blocks.0.a int8-convrot/64, blocks.0.b int8-convrot/64, blocks.1.a int8-convrot/64, "
              "blocks.1.b int8-convrot/64");
}

TEST_F(QuantizeSelection, patterns_that_match_nothing_are_told) {
    put_names("m.safetensors", {"blocks.0.a"});
    put("rules", "blocks.7.* = w4a4\n");
    SelectionRequest r = int8("", "blocks.0.a,c*", "d?");
    r.rules_file = path("rules");
    std::string warnings;
    for (const std::string & w : select("m.safetensors", r).warnings) warnings += short_line(w) + "; ";
    EXPECT_EQ(warnings, "rules: the rule in line 1 matches no layer; --exclude d? matches no layer; "
                        "--include c* matches no layer; ");
}

TEST_F(QuantizeSelection, rules_that_are_wrong_name_their_line) {
    put_names("m.safetensors", {"blocks.0.a"});
    const std::pair<const char *, const char *> wrong[] = {
        {"a = int8\nblocks", "line 2: there is no \"=\" in it"},
        {"= int8", "line 1: there is no pattern before \"=\""},
        {"a = int5", "line 1: \"int5\" is no format: int8, int8-convrot, w4a4, w4a8, keep"},
        {"a = w4a4/8", "line 1: the group \"8\" is no power of four from 4 to 4096"},
        {"a = w4a4/1", "line 1: the group \"1\" is no power of four from 4 to 4096"},
        {"a = w4a4/256x", "line 1: the group \"256x\" is no power of four from 4 to 4096"},
        {"a = w4a4/99999999999999",
         "line 1: the group \"99999999999999\" is no power of four from 4 to 4096"},
        {"a = int8/64", "line 1: int8 is not rotated and has no group"}};
    for (const auto & [rules, cause] : wrong) {
        put("rules", rules);
        SelectionRequest r = int8();
        r.rules_file = path("rules");
        EXPECT_EQ(refusal_of_selection("m.safetensors", r),
                  std::string("rules: ") + cause +
                      " (a rule is PATTERN = FORMAT, PATTERN = FORMAT/GROUP or PATTERN = keep)");
    }
}

TEST_F(QuantizeSelection, what_a_named_layer_cannot_have_is_refused_and_what_a_preset_finds_is_left) {
    put_weights("m.safetensors", {{"a.weight", 2, 6}, {"b.weight", 2, 24}, {"c.weight", 2, 64}},
                {{"conv.weight", StoredType::bf16, {2, 4, 3, 3}}, {"ids.weight", StoredType::i64, {2, 4}}});
    Selection s = select("m.safetensors", {"w4a8", 0, "", "", "", ""});
    EXPECT_EQ(text(s), "c w4a8/64");
    EXPECT_EQ(reasons(s), "a: its 6 input features are no multiple of 16, as w4a8 needs, "
                          "b: its 24 input features are no multiple of 16, as w4a8 needs, "
                          "conv: is no matrix: shape [2, 4, 3, 3], ids: holds no floats");
    EXPECT_EQ(s.warnings.size(), 3u);
    const std::string advice = " (leave it as it is with --exclude or a rule PATTERN = keep)";
    EXPECT_EQ(refusal_of_selection("m.safetensors", int8("", "a")),
              "m.safetensors: tensor a.weight: no power of four from 4 to 256 divides its 6 input features" +
                  advice);
    EXPECT_EQ(refusal_of_selection("m.safetensors", int8("", "conv")),
              "m.safetensors: tensor conv.weight: is no matrix: shape [2, 4, 3, 3]" + advice);
    SelectionRequest grouped = int8("", "", "a");
    grouped.group = 64;
    EXPECT_EQ(refusal_of_selection("m.safetensors", grouped),
              "m.safetensors: tensor b.weight: the group 64 does not divide its 24 input features" + advice);
    grouped.group = 32;
    EXPECT_EQ(refusal_of_selection("m.safetensors", grouped),
              "--group: 32 is no power of four from 4 to 4096");
    grouped = {"int8", 64, "", "", "", ""};
    EXPECT_EQ(refusal_of_selection("m.safetensors", grouped),
              "--group: int8 is not rotated (--format int8-convrot is)");
    EXPECT_EQ(refusal_of_selection("m.safetensors", {"int5", 0, "", "", "", ""}),
              "--format: \"int5\" is no format a layer can get (int8, int8-convrot, w4a4, w4a8, auto)");
}

TEST_F(QuantizeSelection, nothing_is_quantized_twice) {
    TestModel model = test::int8_layer(16, 16, R"({"format":"int8_tensorwise"})");
    put_model("m.safetensors", model.floats("m.weight", {2, 16}, std::vector<float>(32)));
    EXPECT_EQ(
        refusal_of_selection("m.safetensors", {"w4a4", 0, "", "", "", ""}),
        "m.safetensors: tensor l.weight: is quantized already (int8_tensorwise), and quantizing twice to "
        "w4a4 "
        "would add to its errors (begin from the original, or leave it as it is with --exclude or a rule "
        "PATTERN = keep)");
    EXPECT_EQ(text(select("m.safetensors", int8("", "", "l"))), "m int8-convrot/16");
    put("rules", "l = keep");
    SelectionRequest r = int8();
    r.rules_file = path("rules");
    EXPECT_EQ(text(select("m.safetensors", r)), "m int8-convrot/16");
}

TEST_F(QuantizeSelection, parts_of_a_known_model_are_told_and_treated_as_unknown) {
    put_names("m.safetensors", {"blocks.0.attn.wq", "blocks.0.attn.gate", "txtfusion.projector",
                                "last.linear", "first", "tproj.1", "tmlp.0"});
    const Selection s = select("m.safetensors", int8());
    ASSERT_EQ(s.presets.size(), 1u);
    EXPECT_EQ(s.presets[0], "an unknown model: generic");
    ASSERT_EQ(s.warnings.size(), 1u);
    EXPECT_NE(s.warnings[0].find(": it is treated as an unknown model"), std::string::npos) << s.warnings[0];
    EXPECT_EQ(text(select("m.safetensors", int8("krea2"))),
              "blocks.0.attn.gate int8-convrot/64, blocks.0.attn.wq int8-convrot/64");
}

TEST_F(QuantizeSelection, adapters_are_refused) {
    put_names("lora.safetensors", {"blocks.0.a.lora_up", "blocks.0.a.lora_down"});
    EXPECT_EQ(refusal_of_selection("lora.safetensors", int8()),
              "lora.safetensors: is an adapter (LoRA or related), which is not quantized");
}

} // namespace
} // namespace sd
