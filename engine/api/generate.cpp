#include "api/boundary.h"
#include "api/context_files.h"
#include "api/files.h"
#include "base/physical_cores.h"
#include "pipeline/engine.h"
#include "pipeline/extensions.h"
#include "stable-diffusion.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

struct sd_ctx_t {
    sd::Engine engine;
    sd::ReadFiles files;
    sd::RngKind rng;
    std::optional<sd::RngKind> sampler_rng;

    sd_ctx_t(const sd::EngineOptions & options, sd::RngKind initial, std::optional<sd::RngKind> later)
        : engine(options), rng(initial), sampler_rng(later) {}
};

namespace sd {
namespace {

std::optional<RngKind> rng_kind(rng_type_t type) {
    switch (type) {
    case STD_DEFAULT_RNG: return RngKind::std_default;
    case CUDA_RNG: return RngKind::cuda;
    case CPU_RNG: return RngKind::cpu;
    case RNG_TYPE_COUNT: break;
    }
    return std::nullopt;
}

std::optional<Picture> picture_of(const sd_image_t & image, uint32_t least_channels, const char * what) {
    if (image.data == nullptr) return std::nullopt;
    constexpr uint32_t kMost = 32768;
    const bool sizes = image.width >= 1 && image.height >= 1 && image.width <= kMost && image.height <= kMost;
    if (!sizes || image.channel < least_channels || image.channel > 4) {
        throw Error({"E_ARGUMENT",
                     {},
                     {},
                     std::string(what) + " is " + std::to_string(image.width) + "x" +
                         std::to_string(image.height) + " with " + std::to_string(image.channel) +
                         " channels",
                     std::to_string(least_channels) + " to 4 channels are possible"});
    }
    const size_t bytes = size_t(image.width) * image.height * image.channel;
    return Picture{int(image.width), int(image.height), int(image.channel), {image.data, image.data + bytes}};
}

Request request_of(const sd_ctx_t & ctx, const sd_img_gen_params_t & p) {
    const sd_sample_params_t & s = p.sample_params;
    Request r;
    r.prompt = text_of(p.prompt);
    r.negative_prompt = text_of(p.negative_prompt);
    r.adapters = adapter_uses(p.loras, p.lora_count);
    r.width = p.width;
    r.height = p.height;
    r.steps = s.sample_steps;
    r.cfg_scale = s.txt_cfg;
    if (!text_of(s.sample_method).empty()) r.sampler = s.sample_method;
    r.scheduler = text_of(s.scheduler);
    if (!std::isinf(s.eta)) r.eta = s.eta;
    r.flow_shift = ctx.engine.advice().flow_shift.value_or(r.flow_shift);
    if (!std::isinf(s.flow_shift)) r.flow_shift = s.flow_shift;
    r.sigmas = text_of(s.custom_sigmas);
    r.extra = text_of(s.extra_sample_args);
    r.seed = p.seed;
    r.batch = p.batch_count;
    r.rng = ctx.rng;
    r.sampler_rng = ctx.sampler_rng;
    r.init = picture_of(p.init_image, 3, "the initial picture");
    r.mask = picture_of(p.mask_image, 1, "the mask");
    r.strength = p.strength;
    const sd_tiling_params_t & t = p.vae_tiling_params;
    r.tiling = {t.enabled, t.tile_size_x, t.tile_size_y, t.rel_size_x, t.rel_size_y, t.target_overlap};
    r.check_nan = p.check_nan;
    r.dump = text_of(p.dump_tensors);
    r.explain = text_of(p.explain);
    return r;
}

sd_image_t copy_of(const Picture & p) {
    sd_image_t image = {uint32_t(p.width), uint32_t(p.height), uint32_t(p.channels), nullptr};
    image.data = static_cast<uint8_t *>(std::malloc(p.pixels.size()));
    if (image.data == nullptr) throw std::bad_alloc();
    std::memcpy(image.data, p.pixels.data(), p.pixels.size());
    return image;
}

// Borrowed bytes for the length of a callback.
sd_image_t view_of(Picture & p) {
    return {uint32_t(p.width), uint32_t(p.height), uint32_t(p.channels), p.pixels.data()};
}

Callbacks callbacks_of(const sd_gen_callbacks_t & c, std::vector<Picture> * kept) {
    Callbacks out;
    if (c.progress != nullptr) {
        out.progress = [c](const char * what, uint64_t done, uint64_t total) {
            return c.progress(what, done, total, c.data);
        };
    }
    out.picture = [c, kept](int index, int64_t seed, Picture picture) {
        const sd_image_t image = view_of(picture);
        if (c.image != nullptr) c.image(index, seed, &image, c.data);
        if (kept != nullptr) kept->push_back(std::move(picture));
    };
    if (c.preview != nullptr) {
        out.preview = [c](int step, int steps, Picture picture) {
            const sd_image_t image = view_of(picture);
            c.preview(step, steps, &image, c.data);
        };
    }
    return out;
}

EngineOptions options_of(const sd_ctx_params_t & p) {
    EngineOptions o;
    o.files = paths_of(p.files);
    o.tokenizer = text_of(p.tokenizer);
    o.threads = p.n_threads;
    o.assume_int8_group = p.assume_int8_group;
    o.map = p.enable_mmap;
    o.keep_loaded = p.keep_loaded;
    if (p.lora_apply_mode == LORA_APPLY_IMMEDIATELY) o.adapter_mode = AdapterMode::immediately;
    if (p.lora_apply_mode == LORA_APPLY_AT_RUNTIME) o.adapter_mode = AdapterMode::at_runtime;
    o.types = TypeRules::parse(text_of(p.wtype), text_of(p.tensor_type_rules));
    o.placement = {text_of(p.backend),
                   text_of(p.params_backend),
                   text_of(p.split_mode),
                   text_of(p.max_vram),
                   p.stream_layers,
                   p.auto_fit,
                   p.max_ram};
    return o;
}

} // namespace
} // namespace sd

extern "C" void sd_sample_params_init(sd_sample_params_t * p) {
    *p = {};
    p->sample_steps = 20;
    p->txt_cfg = 7.0f;
    p->eta = INFINITY;
    p->flow_shift = INFINITY;
}

extern "C" void sd_ctx_params_init(sd_ctx_params_t * p) {
    *p = {};
    p->enable_mmap = true;
    p->rng_type = CUDA_RNG;
    p->sampler_rng_type = RNG_TYPE_COUNT;
}

extern "C" void sd_img_gen_params_init(sd_img_gen_params_t * p) {
    *p = {};
    p->width = 512;
    p->height = 512;
    p->seed = -1;
    p->batch_count = 1;
    p->strength = 0.75f;
    p->vae_tiling_params.target_overlap = 0.5f;
    sd_sample_params_init(&p->sample_params);
}

extern "C" sd_ctx_t * new_sd_ctx(const sd_ctx_params_t * params) {
    return sd::at_boundary<sd_ctx_t *>(nullptr, [&] {
        if (params == nullptr) throw sd::Error("new_sd_ctx: no parameters");
        const std::optional<sd::RngKind> rng = sd::rng_kind(params->rng_type);
        const auto kind = [](rng_type_t type) { return type >= 0 && type <= RNG_TYPE_COUNT; };
        if (!kind(params->rng_type) || !kind(params->sampler_rng_type))
            throw sd::Error({"E_ARGUMENT", {}, {}, "there is no such rng_type", {}});
        sd::ReadFiles files;
        const sd::ReadFiles::Recording recording(files);
        auto ctx = std::make_unique<sd_ctx_t>(sd::options_of(*params), rng.value_or(sd::RngKind::cuda),
                                              sd::rng_kind(params->sampler_rng_type));
        const std::vector<std::string> models = files.paths();
        for (const std::string & path : sd::vocabulary_files(models, sd::text_of(params->tokenizer)))
            files.add(path);
        ctx->files = files;
        return ctx.release();
    });
}

extern "C" void free_sd_ctx(sd_ctx_t * ctx) { delete ctx; }

extern "C" void sd_get_model_advice(const sd_ctx_t * ctx, sd_model_advice_t * advice) {
    const auto name = [](const std::string & text) { return text.empty() ? nullptr : text.c_str(); };
    const sd::Advice none, &a = ctx != nullptr ? ctx->engine.advice() : none;
    *advice = {a.width.value_or(0),
               a.height.value_or(0),
               a.steps.value_or(0),
               a.cfg_scale.value_or(INFINITY),
               a.flow_shift.value_or(INFINITY),
               name(a.sampler),
               name(a.scheduler),
               a.by_name};
}

extern "C" bool sd_ctx_reads_file(const sd_ctx_t * ctx, const char * path) {
    return sd::at_boundary(false, [&] { return ctx != nullptr && ctx->files.has(sd::text_of(path)); });
}

extern "C" bool generate_image(sd_ctx_t * ctx, const sd_img_gen_params_t * params,
                               const sd_gen_callbacks_t * callbacks, sd_image_t ** images, int * count) {
    if (images != nullptr) *images = nullptr;
    if (count != nullptr) *count = 0;
    std::vector<sd::Picture> kept;
    const bool made = sd::at_boundary(false, [&] {
        if (ctx == nullptr || params == nullptr) throw sd::Error("generate_image: no context or parameters");
        const sd_gen_callbacks_t none = {};
        const sd::Request request = sd::request_of(*ctx, *params);
        sd::check_outputs(ctx->files, request);
        ctx->engine.generate(request, sd::callbacks_of(callbacks != nullptr ? *callbacks : none,
                                                       images != nullptr ? &kept : nullptr));
        return true;
    });
    if (images == nullptr || count == nullptr || kept.empty()) return made;
    auto * list = static_cast<sd_image_t *>(std::calloc(kept.size(), sizeof(sd_image_t)));
    if (list == nullptr) {
        sd::set_last_error("E_MEMORY", "not enough memory");
        return false;
    }
    *images = list;
    for (const sd::Picture & picture : kept) {
        const bool copied = sd::at_boundary(false, [&] {
            list[*count] = sd::copy_of(picture);
            return true;
        });
        if (!copied) return false;
        ++*count;
    }
    return made;
}

extern "C" void free_sd_images(sd_image_t * images, int count) {
    for (int i = 0; images != nullptr && i < count; ++i) std::free(images[i].data);
    std::free(images);
}

extern "C" void sd_cancel_generation(sd_ctx_t * ctx) {
    if (ctx != nullptr) ctx->engine.cancel();
}

extern "C" bool sd_trace_begin(const char * file_name) {
    return sd::at_boundary(false, [&] {
        sd::begin_trace(sd::text_of(file_name));
        return true;
    });
}

extern "C" bool sd_trace_end(void) {
    return sd::at_boundary(false, [] {
        sd::end_trace();
        return true;
    });
}

extern "C" int sd_get_num_physical_cores(void) { return sd::physical_cores(); }
