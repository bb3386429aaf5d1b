#include "apps/cli/requests.h"

#include "apps/cli/checks.h"

#include <random>

namespace cli {
namespace {

sd_image_t view_of(Image & image) {
    return {image.width, image.height, image.channels, image.pixels.empty() ? nullptr : image.pixels.data()};
}

void set_tiling(const Arguments & a, sd_tiling_params_t & tiling) {
    tiling.enabled = a.vae_tiling;
    tiling.target_overlap = a.vae_tile_overlap;
    Pair pair = {};
    if (parse_pair(a.vae_tile_size, pair)) {
        tiling.tile_size_x = int(pair.x);
        tiling.tile_size_y = int(pair.y);
    }
    if (parse_pair(a.vae_relative_tile_size, pair)) {
        tiling.rel_size_x = float(pair.x);
        tiling.rel_size_y = float(pair.y);
    }
}

} // namespace

sd_img_gen_params_t params_of(const Arguments & a, Inputs & in, const Prompt & prompt) {
    sd_img_gen_params_t p;
    sd_img_gen_params_init(&p);
    p.prompt = prompt.text.c_str();
    p.negative_prompt = in.negative_prompt.c_str();
    in.lora_params.clear();
    for (const Lora & lora : prompt.loras)
        in.lora_params.push_back({false, lora.strength, lora.path.c_str()});
    p.loras = in.lora_params.data();
    p.lora_count = uint32_t(in.lora_params.size());
    p.width = in.width;
    p.height = in.height;
    p.seed = a.seed;
    p.batch_count = a.batch_count;
    p.init_image = view_of(in.init);
    p.mask_image = view_of(in.mask);
    p.strength = a.strength;
    p.sample_params.sample_method = a.sampling_method.c_str();
    p.sample_params.scheduler = a.scheduler.c_str();
    p.sample_params.sample_steps = a.steps;
    p.sample_params.txt_cfg = a.cfg_scale;
    p.sample_params.eta = a.eta;
    p.sample_params.flow_shift = a.flow_shift;
    p.sample_params.custom_sigmas = a.sigmas.c_str();
    p.sample_params.extra_sample_args = a.extra_sample_args.c_str();
    p.check_nan = a.check_nan;
    p.dump_tensors = a.dump_tensors.c_str();
    p.explain = a.explain.c_str();
    set_tiling(a, p.vae_tiling_params);
    return p;
}

void draw_seed(Arguments & a) {
    constexpr uint32_t kMost = 0x7fffffff; // short enough to type again
    if (a.seed < 0) a.seed = int64_t(std::random_device{}() & kMost);
}

sd_ctx_params_t context_params_of(const Arguments & a) {
    sd_ctx_params_t c;
    sd_ctx_params_init(&c);
    c.files = {a.model.c_str(), a.diffusion_model.c_str(), a.llm.c_str(), a.vae.c_str()};
    c.tokenizer = a.tokenizer.c_str();
    c.n_threads = a.threads;
    c.assume_int8_group = a.assume_int8_group;
    c.wtype = a.type.c_str();
    c.tensor_type_rules = a.tensor_type_rules.c_str();
    c.enable_mmap = !a.no_mmap;
    c.keep_loaded = a.keep_loaded;
    c.rng_type = str_to_rng_type(a.rng.c_str());
    c.sampler_rng_type = str_to_rng_type(a.sampler_rng.c_str());
    c.lora_apply_mode = str_to_lora_apply_mode(a.lora_apply_mode.c_str());
    const MemoryArguments & m = a.memory;
    c.backend = m.backend.c_str();
    c.params_backend = m.params_backend.c_str();
    c.split_mode = m.split_mode.c_str();
    c.max_vram = m.max_vram.c_str();
    c.max_ram = m.max_ram;
    c.stream_layers = m.stream_layers;
    c.auto_fit = m.auto_fit;
    return c;
}

} // namespace cli
