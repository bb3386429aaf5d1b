// adapters_seeds FOLDER: writes adapters of every kind and key convention for the models of adapters_fuzz.
#include "engine/base/error.h"
#include "engine/checkpoint/safetensors/writer.h"

#include <cstdio>
#include <string>
#include <vector>

namespace {

using sd::StoredType;

struct Tensor {
    const char * name;
    std::vector<int64_t> shape;
};

const std::vector<std::vector<Tensor>> kAdapters = {
    // LoRA: the models' own names, those of diffusers, kohya's flattened ones; alpha, mid, fused projections.
    {{"blocks.0.attn.wk.lora_A.weight", {4, 64}}, {"blocks.0.attn.wk.lora_B.weight", {32, 4}}},
    {{"diffusion_model.blocks.0.attn.wq.lora_down.weight", {2, 64}},
     {"diffusion_model.blocks.0.attn.wq.lora_up.weight", {64, 2}},
     {"diffusion_model.blocks.0.attn.wq.alpha", {}}},
    {{"lora_unet_blocks_0_attn_wq.lora_down.weight", {2, 64}},
     {"lora_unet_blocks_0_attn_wq.lora_up.weight", {64, 2}},
     {"lora_unet_blocks_0_attn_wq.alpha", {}}},
    {{"transformer.blocks.0.mlp.up.lora_A.default.weight", {1, 64}},
     {"transformer.blocks.0.mlp.up.lora_B.default.weight", {96, 1}}},
    {{"blocks.0.attn.qkv.lora_A.weight", {2, 64}}, {"blocks.0.attn.qkv.lora_B.weight", {128, 2}}},
    {{"blocks.0.attn.wk.lora_down.weight", {2, 64}},
     {"blocks.0.attn.wk.lora_mid.weight", {3, 2}},
     {"blocks.0.attn.wk.lora_up.weight", {32, 3}}},
    // LoHa
    {{"blocks.0.attn.wk.hada_w1_a", {32, 2}},
     {"blocks.0.attn.wk.hada_w1_b", {2, 64}},
     {"blocks.0.attn.wk.hada_w2_a", {32, 2}},
     {"blocks.0.attn.wk.hada_w2_b", {2, 64}}},
    // LoKr: whole factors, and factors of factors
    {{"blocks.0.attn.wk.lokr_w1", {4, 8}}, {"blocks.0.attn.wk.lokr_w2", {8, 8}}},
    {{"blocks.0.attn.wk.lokr_w1_a", {4, 2}},
     {"blocks.0.attn.wk.lokr_w1_b", {2, 8}},
     {"blocks.0.attn.wk.lokr_w2_a", {8, 2}},
     {"blocks.0.attn.wk.lokr_w2_b", {2, 8}},
     {"blocks.0.attn.wk.alpha", {}}},
    // Differences of weights, biases and norms
    {{"blocks.0.attn.wk.diff", {32, 64}}, {"blocks.0.attn.wk.diff_b", {32}}},
    {{"blocks.0.prenorm.diff", {64}}},
    // The text encoder
    {{"text_encoder.layers.0.self_attn.q_proj.lora_A.weight", {2, 32}},
     {"text_encoder.layers.0.self_attn.q_proj.lora_B.weight", {32, 2}}},
    {{"lora_te1_layers_0_mlp_down_proj.lora_down.weight", {2, 40}},
     {"lora_te1_layers_0_mlp_down_proj.lora_up.weight", {32, 2}}},
};

void write(const std::string & path, const std::vector<Tensor> & adapter, StoredType type) {
    std::vector<sd::TensorDeclaration> tensors;
    for (const Tensor & t : adapter) tensors.push_back({t.name, type, t.shape});
    sd::SafetensorsWriter writer(path, tensors);
    for (uint64_t i = 0; i < writer.data_bytes(); ++i) {
        const char byte = char(0x3c); // finite in every type
        writer.write(&byte, 1);
    }
    writer.finish();
}

} // namespace

int main(int argc, char ** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "adapters_seeds FOLDER\n");
        return 1;
    }
    try {
        for (size_t i = 0; i < kAdapters.size(); ++i) {
            for (const StoredType type : {StoredType::f32, StoredType::bf16})
                write(std::string(argv[1]) + "/adapter" + std::to_string(i) + sd::type_name(type),
                      kAdapters[i], type);
        }
    } catch (const sd::Error & error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
