#include "apps/cli/foreign_options.h"

#include <string>
#include <vector>

namespace cli {
namespace {

struct Feature {
    const char * what; // completes "--x belongs to ..."
    std::vector<const char *> options;
    std::vector<const char *> flags;
};

const std::vector<Feature> & features() {
    static const std::vector<Feature> list = {
        {"other text encoders, and none of the models that run here has them",
         {"--clip_l", "--clip_g", "--t5xxl", "--clip-skip"},
         {}},
        {"other diffusion models",
         {"--high-noise-diffusion-model", "--uncond-diffusion-model", "--embeddings-connectors",
          "--audio-vae", "--motion-module", "--timestep-shift", "--qwen-image-layers", "--img-cfg-scale",
          "--guidance", "--slg-scale", "--skip-layers", "--skip-layer-start", "--skip-layer-end",
          "--model-args", "--prediction", "--vae-format"},
         {"--force-sdxl-vae-conv-scale"}},
        {"two-stage sampling, which is not built",
         {"--moe-boundary", "--high-noise-steps", "--high-noise-cfg-scale", "--high-noise-img-cfg-scale",
          "--high-noise-guidance", "--high-noise-eta", "--high-noise-sampling-method",
          "--high-noise-slg-scale", "--high-noise-skip-layers", "--high-noise-skip-layer-start",
          "--high-noise-skip-layer-end"},
         {}},
        {"video and audio, which are not built",
         {"--video-frames", "--fps", "--end-img", "--control-video", "--vace-strength", "--ref-video",
          "--ref-video-audio", "--ref-audio"},
         {}},
        {"image conditioning, which is not built",
         {"--control-net", "--control-image", "--control-strength", "--clip_vision", "--ip-adapter",
          "--ip-adapter-image", "--ip-adapter-strength", "--photo-maker", "--pm-id-images-dir",
          "--pm-id-embed-path", "--pm-style-strength", "--pulid-weights", "--pulid-id-embedding",
          "--pulid-id-weight"},
         {"--canny", "--control-net-cpu"}},
        {"editing by reference pictures, which is not built",
         {"-r,--ref-image", "--ref-image-args", "--llm_vision,--qwen2vl_vision"},
         {"--increase-ref-index", "--disable-auto-resize-ref-image"}},
        {"textual inversion, which is not built", {"--embd-dir"}, {}},
        {"upscaling, which is not built",
         {"--upscale-model", "--upscale-repeats", "--upscale-tile-size", "--hires-upscaler", "--hires-scale",
          "--hires-width", "--hires-height", "--hires-steps", "--hires-denoising-strength",
          "--hires-upscale-tile-size", "--hires-sigmas", "--hires-upscalers-dir"},
         {"--hires"}},
        {"detection and repair, which are not built",
         {"--ad-model", "--ad-prompt", "--ad-negative-prompt", "--extra-ad-args"},
         {}},
        {"step caching, which is not built",
         {"--cache-mode", "--cache-option", "--scm-mask", "--scm-policy"},
         {}},
        {"the tiny autoencoder, which is not built", {"--taesd,--tae"}, {"--taesd-preview-only"}},
        {"devices of other machines, which are not built", {"--rpc-servers"}, {}},
        {"tileable pictures, which are not built yet", {}, {"--circular", "--circularx", "--circulary"}},
        {"previews by the VAE or of the noise, which are not built", {}, {"--preview-noisy"}},
        {"tiles of videos, which are not built", {"--extra-tiling-args"}, {"--temporal-tiling"}},
        {"reading metadata of other programs, which is not built",
         {},
         {"--metadata-raw", "--metadata-brief", "--metadata-all"}},
        {"renaming tensors, which is not built", {}, {"--convert-name"}},
        {"importance matrices, which are not built yet", {"--imat-in", "--imat-out"}, {}},
    };
    return list;
}

void refuse(const char * name, const char * what) {
    const std::string all = name;
    // Of several names, the first.
    throw CLI::ValidationError(all.substr(0, all.find(',')) + " belongs to " + what);
}

} // namespace

void add_foreign_options(CLI::App & app) {
    for (const Feature & feature : features()) {
        for (const char * name : feature.options) {
            const auto seen = [name, &feature](const std::string &) { refuse(name, feature.what); };
            app.add_option_function<std::string>(name, seen)->group("");
        }
        for (const char * name : feature.flags) {
            app.add_flag_callback(name, [name, &feature] { refuse(name, feature.what); })->group("");
        }
    }
}

} // namespace cli
