#include "base/error.h"
#include "models/families.h"
#include "models/krea2/config.h"
#include "models/qwen3_vl/config.h"
#include "models/test_checkpoint.h"
#include "models/wan_vae/config.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

Krea2Config small_krea2() {
    Krea2Config c = {};
    c.features = 64;
    c.in_channels = c.out_channels = 16;
    c.head_dim = 32;
    c.heads = 2;
    c.kv_heads = 1;
    c.mlp = 96;
    c.layers = 3;
    c.text_dim = 96;
    c.text_head_dim = 32;
    c.text_heads = c.text_kv_heads = 3;
    c.text_mlp = 128;
    c.text_layers = 2;
    c.layerwise_blocks = 2;
    c.refiner_blocks = 1;
    c.timestep_dim = 256;
    return c;
}

Qwen3VlConfig small_qwen() {
    Qwen3VlConfig c = {};
    c.hidden = 48;
    c.vocab = 300;
    c.head_dim = 16;
    c.heads = 4;
    c.kv_heads = 2;
    c.mlp = 80;
    c.layers = 9;
    return c;
}

std::string refusal(const std::function<void()> & run) {
    try {
        run();
    } catch (const Error & error) {
        const std::string line = error.what();
        const size_t file = line.find(".safetensors: ");
        return file == std::string::npos ? line : line.substr(file + 14);
    }
    return "nothing was refused";
}

void change_shape(std::vector<ExpectedTensor> & tensors, const std::string & name,
                  std::vector<int64_t> shape) {
    for (ExpectedTensor & t : tensors) {
        if (t.name == name) t.shape = std::move(shape);
    }
}

TEST(krea2_config, comes_back_from_the_shapes_it_gives) {
    const Krea2Config c = small_krea2();
    const test::TensorFile file(krea2_tensors(c));
    const Checkpoint checkpoint = file.open();
    const ModelTable table(checkpoint, {}, "", krea2_name);
    ASSERT_TRUE(is_krea2(table));
    const Krea2Config got = krea2_config(table);
    EXPECT_EQ(got.features, c.features);
    EXPECT_EQ(got.heads, c.heads);
    EXPECT_EQ(got.kv_heads, c.kv_heads);
    EXPECT_EQ(got.mlp, c.mlp);
    EXPECT_EQ(got.layers, c.layers);
    EXPECT_EQ(got.text_dim, c.text_dim);
    EXPECT_EQ(got.text_heads, c.text_heads);
    EXPECT_EQ(got.text_layers, c.text_layers);
    EXPECT_EQ(got.layerwise_blocks, c.layerwise_blocks);
    EXPECT_EQ(got.refiner_blocks, c.refiner_blocks);
    const TableCheck check = check_table(table, krea2_tensors(got));
    EXPECT_TRUE(check.missing.empty());
    EXPECT_TRUE(check.unused.empty());
}

TEST(krea2_config, of_the_published_model_has_its_parameters) {
    Krea2Config c = {6144, 16, 16, 128, 48, 12, 16384, 28, 2560, 128, 20, 20, 6912, 12, 2, 2, 256};
    int64_t parameters = 0;
    for (const ExpectedTensor & t : krea2_tensors(c)) {
        int64_t n = 1;
        for (const int64_t d : t.shape) n *= d;
        parameters += n;
    }
    EXPECT_EQ(krea2_tensors(c).size(), 430u);
    EXPECT_EQ(parameters, 12820073036);
    EXPECT_EQ(c.axis(0), 32);
    EXPECT_EQ(c.axis(1), 48);
    c.head_dim = 16;
    EXPECT_EQ(c.axis(0), 4);
    EXPECT_EQ(c.axis(2), 6);
}

TEST(krea2_config, refuses_sizes_that_do_not_belong_together) {
    const auto refused = [](const std::string & name, const std::vector<int64_t> & shape) {
        std::vector<ExpectedTensor> tensors = krea2_tensors(small_krea2());
        change_shape(tensors, name, shape);
        const test::TensorFile file(tensors);
        const Checkpoint checkpoint = file.open();
        return refusal([&] {
            const ModelTable table(checkpoint, {}, "", krea2_name);
            check_table(table, krea2_tensors(krea2_config(table)));
        });
    };
    EXPECT_EQ(refused("first.weight", {64, 63}), "tensor first.weight: is not made for patches of 2 by 2");
    EXPECT_EQ(refused("first.weight", {60, 64}),
              "tensor first.weight: has 60 rows, which is no multiple of the head size 32");
    EXPECT_EQ(
        refused("blocks.0.attn.qknorm.qnorm.scale", {8}),
        "tensor blocks.0.attn.qknorm.qnorm.scale: makes heads of 8 channels, but an even number of at least "
        "16 is needed");
    EXPECT_EQ(refused("blocks.2.mlp.up.weight", {96, 32}),
              "tensor blocks.2.mlp.up.weight: has the shape [96, 32], but [96, 64] is expected");
    EXPECT_EQ(refused("blocks.0.attn.wk.weight", {96, 64}),
              "tensor blocks.0.attn.wk.weight: has 3 heads, which do not divide the 2 query heads");
    EXPECT_EQ(
        refused("first.weight", {64, 4, 16}),
        "tensor first.weight: has the shape [64, 4, 16], but 2 dimensions are expected, none of them 0");
}

TEST(krea2_config, misses_blocks_and_tensors_by_name) {
    std::vector<ExpectedTensor> tensors = krea2_tensors(small_krea2());
    std::erase_if(tensors, [](const ExpectedTensor & t) { return t.name.starts_with("blocks.1."); });
    const test::TensorFile file(tensors);
    const Checkpoint checkpoint = file.open();
    const ModelTable table(checkpoint, {}, "", krea2_name);
    EXPECT_EQ(refusal([&] { krea2_config(table); }), "block blocks.1 of 3 is missing");

    tensors = krea2_tensors(small_krea2());
    std::erase_if(tensors, [](const ExpectedTensor & t) { return t.name.ends_with("mlp.down.weight"); });
    tensors.push_back({"last.up.weight", {64, 64}});
    const test::TensorFile other(tensors);
    const Checkpoint second = other.open();
    const ModelTable incomplete(second, {}, "", krea2_name);
    const TableCheck check = check_table(incomplete, krea2_tensors(krea2_config(incomplete)));
    EXPECT_EQ(check.unused, std::vector<std::string>{"last.up.weight"});
    EXPECT_EQ(
        refusal([&] { require_complete(incomplete, check, "Krea 2 model"); }),
        "6 tensors of a Krea 2 model are missing: txtfusion.layerwise_blocks.0.mlp.down.weight, "
        "txtfusion.layerwise_blocks.1.mlp.down.weight, txtfusion.refiner_blocks.0.mlp.down.weight, ... (the "
        "file is incomplete or holds another model)");
}

TEST(krea2_names, of_diffusers_become_the_original_ones) {
    const std::pair<const char *, const char *> names[] = {
        {"img_in.weight", "first.weight"},
        {"time_embed.linear_2.bias", "tmlp.2.bias"},
        {"time_mod_proj.weight", "tproj.1.weight"},
        {"txt_in.norm.weight", "txtmlp.0.scale"},
        {"txt_in.linear_2.weight", "txtmlp.3.weight"},
        {"text_fusion.projector.weight", "txtfusion.projector.weight"},
        {"text_fusion.refiner_blocks.1.attn.to_out.0.weight", "txtfusion.refiner_blocks.1.attn.wo.weight"},
        {"transformer_blocks.3.scale_shift_table", "blocks.3.mod.lin"},
        {"transformer_blocks.3.norm1.weight", "blocks.3.prenorm.scale"},
        {"transformer_blocks.3.attn.norm_k.weight", "blocks.3.attn.qknorm.knorm.scale"},
        {"transformer_blocks.3.attn.to_gate.weight", "blocks.3.attn.gate.weight"},
        {"transformer_blocks.3.ff.down.weight", "blocks.3.mlp.down.weight"},
        {"final_layer.scale_shift_table", "last.modulation.lin"},
        {"final_layer.norm.weight", "last.norm.scale"},
        {"blocks.3.mlp.gate.weight", "blocks.3.mlp.gate.weight"},
        {"unknown.weight", "unknown.weight"},
    };
    for (const auto & [from, to] : names) EXPECT_EQ(krea2_name(from), to);
}

TEST(qwen3_vl_config, comes_back_from_the_shapes_it_gives) {
    const Qwen3VlConfig c = small_qwen();
    const test::TensorFile file(qwen3_vl_tensors(c));
    const Checkpoint checkpoint = file.open(Component::llm);
    const ModelTable table(checkpoint, {}, "text_encoders.llm.", qwen3_vl_name);
    ASSERT_TRUE(is_qwen3(table));
    const Qwen3VlConfig got = qwen3_vl_config(table);
    EXPECT_EQ(got.hidden, c.hidden);
    EXPECT_EQ(got.vocab, c.vocab);
    EXPECT_EQ(got.heads, c.heads);
    EXPECT_EQ(got.kv_heads, c.kv_heads);
    EXPECT_EQ(got.layers, c.layers);
    EXPECT_EQ(got.taps(), (std::vector<int>{2, 5, 8}));
    EXPECT_EQ(got.rope_theta, 5e6f);
}

TEST(qwen3_vl_config, needs_no_layer_behind_the_last_tap) {
    Qwen3VlConfig c = small_qwen();
    c.layers = 36;
    EXPECT_EQ(c.taps().size(), 12u);
    EXPECT_EQ(c.taps().back(), 35);
    for (const ExpectedTensor & t : qwen3_vl_tensors(c)) {
        EXPECT_EQ(t.optional,
                  t.name.starts_with("layers.35.") || t.name == "norm.weight" || t.name == "lm_head.weight")
            << t.name;
    }
}

TEST(qwen3_vl_names, of_all_sources_are_the_same) {
    for (const char * prefix :
         {"", "model.", "model.language_model.", "language_model.model.", "language_model.",
          "text_encoders.llm.", "text_encoders.qwen3vl_4b.transformer.model."}) {
        EXPECT_EQ(qwen3_vl_name(std::string(prefix) + "layers.7.mlp.up_proj.weight"),
                  "layers.7.mlp.up_proj.weight");
    }
    const std::pair<const char *, const char *> names[] = {
        {"token_embd.weight", "embed_tokens.weight"},
        {"output_norm.weight", "norm.weight"},
        {"output.weight", "lm_head.weight"},
        {"blk.3.attn_norm.weight", "layers.3.input_layernorm.weight"},
        {"blk.3.attn_q.weight", "layers.3.self_attn.q_proj.weight"},
        {"blk.3.attn_q_norm.weight", "layers.3.self_attn.q_norm.weight"},
        {"blk.3.attn_output.weight", "layers.3.self_attn.o_proj.weight"},
        {"blk.3.ffn_norm.weight", "layers.3.post_attention_layernorm.weight"},
        {"blk.3.ffn_down.weight", "layers.3.mlp.down_proj.weight"},
        {"model.visual.blocks.0.norm1.weight", "visual.blocks.0.norm1.weight"},
    };
    for (const auto & [from, to] : names) EXPECT_EQ(qwen3_vl_name(from), to);
}

TEST(wan_vae_config, comes_from_files_with_or_without_encoder) {
    for (const bool encoder : {true, false}) {
        for (const bool flat : {true, false}) {
            const WanVaeConfig c = {8, encoder, true, flat};
            const test::TensorFile file(wan_vae_tensors(c));
            const Checkpoint checkpoint = file.open();
            const ModelTable table(checkpoint, {}, "", wan_vae_name);
            ASSERT_TRUE(is_wan_vae(table));
            const WanVaeConfig got = wan_vae_config(table);
            EXPECT_EQ(got.dim, 8);
            EXPECT_EQ(got.encoder, encoder);
            EXPECT_EQ(got.flat, flat);
            const TableCheck check = check_table(table, wan_vae_tensors(got));
            EXPECT_TRUE(check.missing.empty() && check.unused.empty());
        }
    }
    EXPECT_EQ(wan_vae_tensors({96, true, true, false}).size(), 194u);
}

TEST(wan_vae_config, refuses_other_latents) {
    std::vector<ExpectedTensor> tensors = wan_vae_tensors({8, false, true, false});
    change_shape(tensors, "decoder.conv1.weight", {32, 48, 3, 3, 3});
    const test::TensorFile file(tensors);
    const Checkpoint checkpoint = file.open();
    const ModelTable table(checkpoint, {}, "", wan_vae_name);
    EXPECT_EQ(refusal([&] { wan_vae_config(table); }), "tensor decoder.conv1.weight: has the shape [32, 48, "
                                                       "3, 3, 3], which is not that of a Wan 2.1 VAE (Wan "
                                                       "2.2 and other VAEs have other latents)");
}

TEST(wan_vae_names, of_diffusers_become_the_original_ones) {
    const std::pair<const char *, const char *> names[] = {
        {"quant_conv.weight", "conv1.weight"},
        {"post_quant_conv.bias", "conv2.bias"},
        {"encoder.conv_in.weight", "encoder.conv1.weight"},
        {"decoder.norm_out.gamma", "decoder.head.0.gamma"},
        {"decoder.conv_out.weight", "decoder.head.2.weight"},
        {"encoder.mid_block.resnets.1.conv2.weight", "encoder.middle.2.residual.6.weight"},
        {"decoder.mid_block.attentions.0.to_qkv.weight", "decoder.middle.1.to_qkv.weight"},
        {"encoder.down_blocks.4.norm1.gamma", "encoder.downsamples.4.residual.0.gamma"},
        {"encoder.down_blocks.3.conv_shortcut.weight", "encoder.downsamples.3.shortcut.weight"},
        {"encoder.down_blocks.5.time_conv.weight", "encoder.downsamples.5.time_conv.weight"},
        {"decoder.up_blocks.2.resnets.1.conv1.weight", "decoder.upsamples.9.residual.2.weight"},
        {"decoder.up_blocks.2.upsamplers.0.resample.1.weight", "decoder.upsamples.11.resample.1.weight"},
        {"decoder.conv1.weight", "decoder.conv1.weight"},
        {"decoder.up_blocks.9.resnets.1.conv1.weight", "decoder.up_blocks.9.resnets.1.conv1.weight"},
    };
    for (const auto & [from, to] : names) EXPECT_EQ(wan_vae_name(from), to);
}

TEST(families, are_found_by_their_tensors) {
    const auto family = [](const std::vector<ExpectedTensor> & tensors) {
        const test::TensorFile file(tensors);
        const std::vector<FoundModel> found = find_models(file.open(), {});
        return found.size() == 1 ? found[0].family : std::to_string(found.size()) + " models";
    };
    EXPECT_EQ(family(krea2_tensors(small_krea2())), "krea2");
    EXPECT_EQ(family(qwen3_vl_tensors(small_qwen())), "qwen3_vl");
    EXPECT_EQ(family(wan_vae_tensors({8, true, true, false})), "wan_vae");
    EXPECT_EQ(family({{"cap_embedder.1.weight", {4, 4}}, {"noise_refiner.0.a.weight", {4, 4}}}), "z_image");
    EXPECT_EQ(family({{"decoder.mid.block_1.conv1.weight", {4, 4, 3, 3}}}), "kl_vae");
    EXPECT_EQ(family({{"a.lora_up.weight", {4, 4}}, {"a.lora_down.weight", {4, 4}}}), "adapter");
    EXPECT_EQ(family({{"something.weight", {4, 4}}}), "0 models");
}

TEST(families, are_found_together_in_one_file) {
    std::vector<ExpectedTensor> all;
    const auto add = [&](const std::string & prefix, std::vector<ExpectedTensor> tensors) {
        for (ExpectedTensor & t : tensors) t.name = prefix + t.name;
        all.insert(all.end(), tensors.begin(), tensors.end());
    };
    add("model.diffusion_model.", krea2_tensors(small_krea2()));
    add("text_encoders.qwen3vl_4b.transformer.model.", qwen3_vl_tensors(small_qwen()));
    add("first_stage_model.", wan_vae_tensors({8, true, true, false}));
    const test::TensorFile file(all);
    const std::vector<FoundModel> found = find_models(file.open(), {});
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].family, "krea2");
    EXPECT_EQ(found[1].family, "qwen3_vl");
    EXPECT_EQ(found[2].family, "wan_vae");
    for (const FoundModel & m : found) EXPECT_TRUE(m.missing.empty() && m.unused.empty()) << m.title;
}

} // namespace
} // namespace sd
