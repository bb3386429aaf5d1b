#include "models/signatures.h"

namespace sd {

const std::vector<Signature> & signatures() {
    using enum ModelRole;
    static const std::vector<Signature> table = {
        {"qwen_image", "Qwen-Image", diffusion, {"transformer_blocks.0.img_mod.1.", "txt_norm."}},
        {"z_image", "Z-Image", diffusion, {"cap_embedder.", "noise_refiner."}},
        {"flux2", "FLUX.2", diffusion, {"double_stream_modulation_img.", ""}},
        {"chroma", "Chroma", diffusion, {"distilled_guidance_layer.", ""}},
        {"flux", "FLUX.1", diffusion, {"double_blocks.0.img_attn.", "single_blocks.0."}},
        {"anima", "Anima", diffusion, {"llm_adapter.", "blocks.0."}},
        {"wan", "Wan", diffusion, {"patch_embedding.", "blocks.0.cross_attn."}},
        {"ltx", "LTX", diffusion, {"patchify_proj.", "transformer_blocks.0."}},
        {"sd3", "Stable Diffusion 3", diffusion, {"joint_blocks.0.", ""}},
        {"sdxl", "Stable Diffusion XL", diffusion, {"label_emb.", "input_blocks.0."}},
        {"sd1", "Stable Diffusion 1 or 2", diffusion, {"input_blocks.0.", "time_embed."}},
        {"t5", "T5", text_encoder, {"encoder.block.0.layer.0.SelfAttention.", ""}},
        {"t5", "T5", text_encoder, {"enc.blk.0.", ""}},
        {"clip", "CLIP", text_encoder, {"text_model.encoder.layers.0.", ""}},
        {"llm", "language model", text_encoder, {"layers.0.self_attn.q_proj.", ""}},
        {"llm", "language model", text_encoder, {"model.layers.0.self_attn.q_proj.", ""}},
        {"llm", "language model", text_encoder, {"blk.0.attn_q.", ""}},
        {"vision", "vision encoder (mmproj)", text_encoder, {"v.blk.0.", ""}},
        {"wan22_vae", "Wan 2.2 VAE", vae, {"decoder.upsamples.0.upsamples.", ""}},
        {"kl_vae", "AutoencoderKL", vae, {"decoder.mid.block_1.", ""}},
        {"kl_vae", "AutoencoderKL", vae, {"decoder.mid_block.resnets.0.conv1.", ""}},
    };
    return table;
}

} // namespace sd
