#include "adapters/test_models.h"

#include <gtest/gtest.h>

namespace sd {
namespace {

class AdapterTargetsTest : public test::AdapterTest {
  protected:
    std::string found(const std::string & name) const {
        std::string text;
        for (const AdapterTarget & t : targets_->find(name)) text += (text.empty() ? "" : " ") + t.tensor;
        return text;
    }
};

TEST_F(AdapterTargetsTest, every_convention_finds_the_same_layer) {
    for (const char * name : {"blocks.1.attn.wo",
                              "diffusion_model.blocks.1.attn.wo",
                              "model.diffusion_model.blocks.1.attn.wo",
                              "transformer.blocks.1.attn.wo",
                              "unet.blocks.1.attn.wo",
                              "base_model.model.blocks.1.attn.wo",
                              "base_model.model.diffusion_model.blocks.1.attn.wo",
                              "transformer_blocks.1.attn.to_out.0",
                              "transformer.transformer_blocks.1.attn.to_out.0",
                              "diffusion_model.transformer_blocks.1.attn.to_out.0",
                              "transformer.transformer_blocks.1.attn.to_out",
                              "unet.transformer_blocks.1.attn.to_out.0",
                              "blocks.1.attn.wo.weight",
                              "lora_unet_blocks_1_attn_wo",
                              "lora_transformer_blocks_1_attn_wo",
                              "lora_transformer_transformer_blocks_1_attn_to_out_0",
                              "lycoris_transformer_blocks_1_attn_to_out_0",
                              "lycoris_unet_blocks_1_attn_wo",
                              "lora_transformer_blocks_1_attn_to_out_0",
                              "lycoris_blocks_1_attn_wo"})
        EXPECT_EQ(found(name), "blocks.1.attn.wo.weight") << name;
}

TEST_F(AdapterTargetsTest, names_with_underscores_of_their_own_are_found_flattened) {
    EXPECT_EQ(found("lora_unet_txtfusion_layerwise_blocks_0_mlp_gate"),
              "txtfusion.layerwise_blocks.0.mlp.gate.weight");
    EXPECT_EQ(found("lycoris_text_fusion_refiner_blocks_0_attn_to_gate"),
              "txtfusion.refiner_blocks.0.attn.gate.weight");
    EXPECT_EQ(found("lora_unet_img_in"), "first.weight");
    EXPECT_EQ(found("lora_transformer_time_embed_linear_2"), "tmlp.2.weight");
    EXPECT_EQ(found("lora_unet_final_layer_linear"), "last.linear.weight");
    EXPECT_EQ(found("lora_unet_tproj_1"), "tproj.1.weight");
}

TEST_F(AdapterTargetsTest, norms_and_tables_are_found_by_either_name) {
    EXPECT_EQ(found("diffusion_model.blocks.0.prenorm.scale"), "blocks.0.prenorm.scale");
    EXPECT_EQ(found("transformer_blocks.0.norm1"), "blocks.0.prenorm.scale");
    EXPECT_EQ(found("transformer_blocks.0.attn.norm_q"), "blocks.0.attn.qknorm.qnorm.scale");
    EXPECT_EQ(found("txt_in.norm"), "txtmlp.0.scale");
    EXPECT_EQ(found("blocks.0.mod.lin"), "blocks.0.mod.lin");
    EXPECT_EQ(found("transformer.final_layer.scale_shift_table"), "last.modulation.lin");
}

TEST_F(AdapterTargetsTest, text_encoders_are_found_in_every_convention) {
    for (const char * name :
         {"text_encoder.model.layers.0.mlp.down_proj", "te.layers.0.mlp.down_proj",
          "text_encoders.llm.layers.0.mlp.down_proj", "model.language_model.layers.0.mlp.down_proj",
          "base_model.model.model.layers.0.mlp.down_proj", "lora_te_model_layers_0_mlp_down_proj",
          "lora_te1_layers_0_mlp_down_proj", "lora_te_model_language_model_layers_0_mlp_down_proj",
          "lora_text_encoder_layers_0_mlp_down_proj"})
        EXPECT_EQ(found(name), "layers.0.mlp.down_proj.weight") << name;
    EXPECT_EQ(found("te.embed_tokens"), "");
}

TEST_F(AdapterTargetsTest, fused_projections_are_their_parts_in_order) {
    const std::string parts = "blocks.0.attn.wq.weight blocks.0.attn.wk.weight blocks.0.attn.wv.weight";
    EXPECT_EQ(found("diffusion_model.blocks.0.attn.qkv"), parts);
    EXPECT_EQ(found("transformer_blocks.0.attn.to_qkv"), parts);
    EXPECT_EQ(found("lora_unet_blocks_0_attn_qkv"), parts);
    EXPECT_EQ(found("te.layers.0.self_attn.qkv_proj"),
              "layers.0.self_attn.q_proj.weight layers.0.self_attn.k_proj.weight "
              "layers.0.self_attn.v_proj.weight");
}

TEST_F(AdapterTargetsTest, layers_without_bias_can_get_one) {
    const auto found = targets_->find_bias("diffusion_model.blocks.0.attn.wk");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].tensor, "blocks.0.attn.wk.bias");
    EXPECT_EQ(found[0].n, 1);
    EXPECT_EQ(found[0].k, 32);
    EXPECT_TRUE(targets_->find_bias("blocks.0.mod.lin").empty());
}

TEST_F(AdapterTargetsTest, other_names_find_nothing) {
    for (const char * name :
         {"blocks.7.attn.wq", "double_blocks.0.img_attn.qkv", "lora_unet_input_blocks_4_1_proj_in", "", ".",
          "lora_", "weight", "vae.conv1", "base_model.model."})
        EXPECT_EQ(found(name), "") << name;
}

} // namespace
} // namespace sd
