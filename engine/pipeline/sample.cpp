#include "pipeline/engine.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/output_file.h"
#include "base/size_text.h"
#include "pipeline/preview.h"
#include "sampling/img2img.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

bool all_finite(const std::vector<float> & values) {
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

// One picture's way through the steps.
struct Trajectory {
    const Request & request;
    const Plan & plan;
    const Callbacks & callbacks;
    Diffusion & diffusion;
    const Diffusion::Prompt & cond;
    const Diffusion::Prompt * uncond;
    const std::vector<float> &init, &mask;
    Watch & watch;
    std::atomic<bool> & cancel;
    Guidance guidance;
    int steps, picture;

    [[noreturn]] void refuse_not_finite(const Diffusion::Prompt & prompt, const std::vector<float> & x,
                                        const Evaluation & e) {
        std::string where, advice = "--check-nan finds the layer";
        if (request.check_nan) {
            const std::string layer =
                diffusion.find_not_finite(prompt, x, plan.latent_height, plan.latent_width, e.sigma, &cancel);
            where = layer.empty() ? ", and was finite when it was asked again"
                                  : "; " + layer + " is the first that is not";
            advice.clear();
        }
        throw Error({"E_NAN",
                     {},
                     {},
                     "the diffusion model's answer in step " + std::to_string(std::abs(e.step)) +
                         " is not finite" + where,
                     advice});
    }

    std::vector<float> ask(const Diffusion::Prompt & prompt, const std::vector<float> & x,
                           const Evaluation & e) {
        const std::string step = "step" + std::to_string(std::abs(e.step));
        const bool first = picture == 0 && std::abs(e.step) == 1 && e.step == 1;
        const std::string deep = first ? "deep." + step + "." + prompt.name + "." : "";
        std::vector<float> v = diffusion.velocity(prompt, x, plan.latent_height, plan.latent_width, e.sigma,
                                                  deep, watch, &cancel);
        if (e.step > 0) {
            watch.floats(picture_prefix(picture) + step + "." + prompt.name + ".dit_out",
                         {1, diffusion.config().out_channels, plan.latent_height, plan.latent_width}, v);
        }
        if (!all_finite(v)) refuse_not_finite(prompt, x, e);
        return v;
    }

    bool evaluate(const Evaluation & e) {
        const std::vector<float> x(e.x, e.x + e.n);
        std::vector<float> v = ask(cond, x, e);
        const auto estimate = [&](const std::vector<float> & velocity, float * out) {
            for (size_t i = 0; i < e.n; ++i) out[i] = x[i] - e.sigma * velocity[i];
            if (!init.empty()) keep_unmasked(init.data(), mask.data(), mask.size(), e.n / mask.size(), out);
        };
        if (guidance.needs_uncond(e.step)) {
            const std::vector<float> without = ask(*uncond, x, e);
            if (e.uncond != nullptr) estimate(without, e.uncond);
            guidance.combine(e.step, v.data(), without.data(), e.n, v.data());
        } else if (e.uncond != nullptr) {
            estimate(v, e.uncond);
        }
        estimate(v, e.denoised);
        if (!ends_step(e.step, steps)) return !cancel;
        if (callbacks.preview) {
            callbacks.preview(std::abs(e.step), steps,
                              preview_of(e.denoised, plan.latent_height, plan.latent_width));
        }
        const bool go_on = !callbacks.progress ||
                           callbacks.progress("sampling", uint64_t(picture * steps + std::abs(e.step)),
                                              uint64_t(request.batch * steps));
        if (!go_on) cancel = true;
        return !cancel;
    }
};

// White where the request has no mask.
std::vector<float> latent_mask(const Request & request, const Plan & plan) {
    const size_t pixels = size_t(plan.latent_width * plan.latent_height);
    if (!request.mask) return std::vector<float>(pixels, 1.0f);
    const Picture & m = *request.mask;
    const int64_t rows = plan.latent_height * WanVaeConfig::scale,
                  columns = plan.latent_width * WanVaeConfig::scale;
    std::vector<float> values;
    values.reserve(size_t(rows * columns));
    for (int64_t y = 0; y < rows; ++y) {
        const int64_t row = pixel_under(y, request.height, m.height) * m.width;
        for (int64_t x = 0; x < columns; ++x) {
            const int64_t at = row + pixel_under(x, request.width, m.width);
            values.push_back(float(m.pixels[size_t(at * m.channels)]) / 255.0f);
        }
    }
    return shrink_mask(values.data(), columns, rows, plan.latent_width, plan.latent_height);
}

// Where weights are always there. on: the device, unless there is only one.
void check_step(uint64_t step, uint64_t taken, uint64_t mapped, uint64_t there, const std::string & on) {
    log_info("memory: the diffusion model takes " + size_text(taken) + " and " + size_text(mapped) +
             " of its file" + on + ", a step " + size_text(step) + "; " + size_text(there) + " are free");
    if (step > there) {
        throw Error({"E_MEMORY",
                     {},
                     {},
                     "a step needs " + size_text(step) + " of memory" + on + ", " + size_text(step - there) +
                         " more than there is",
                     "a smaller picture needs less"});
    }
    if (mapped > there - step) {
        log_warn("the diffusion model does not fit into memory: each step reads about " +
                 size_text(mapped - (there - step)) + " from its file again");
    }
}

} // namespace

// Told before the first step, and refused where it cannot work: running out of memory later costs hours.
void Engine::plan_memory(const Plan & plan, int64_t tokens) {
    if (!diffusion_->always_there()) {
        diffusion_->plan_steps(tokens, plan.latent_height, plan.latent_width, &cancel_);
        return;
    }
    const std::vector<uint64_t> steps =
        diffusion_->memory_of_step(tokens, plan.latent_height, plan.latent_width);
    const std::vector<Runner *> devices = runners(Module::diffusion);
    for (size_t i = 0; i < devices.size(); ++i) {
        const std::string on = devices.size() > 1 ? " on " + devices[i]->device_name() : "";
        check_step(steps[i], diffusion_->bytes_allocated(i), diffusion_->bytes_mapped(i),
                   devices[i]->free_memory(), on);
    }
}

// "json" for names that end so.
void Engine::write_explanation(const std::string & path, const Plan & plan, int64_t tokens) const {
    const std::string text =
        diffusion_->explain_step(tokens, plan.latent_height, plan.latent_width, path.ends_with(".json"));
    OutputFile file(path);
    file.write(text.data(), text.size());
    file.finish();
}

void Engine::make_pictures(const Request & request, const Plan & plan, const Contexts & contexts,
                           const std::vector<float> & init, const Callbacks & callbacks, Watch & watch) {
    if (diffusion_ == nullptr) {
        diffusion_ = std::make_unique<Diffusion>(
            *diffusion_table_, runners(Module::diffusion),
            adapted_options(AdapterPart::diffusion, callbacks, "loading the diffusion model"), loading());
    }
    const Diffusion::Prompt cond = diffusion_->prepare(contexts.cond, "cond", watch, &cancel_);
    std::optional<Diffusion::Prompt> uncond;
    Watch unwatched(false);
    if (contexts.uncond) uncond = diffusion_->prepare(*contexts.uncond, "uncond", unwatched, &cancel_);

    plan_memory(plan, std::max(cond.tokens, uncond ? uncond->tokens : 0));
    if (!request.explain.empty()) write_explanation(request.explain, plan, cond.tokens);

    const int64_t channels = diffusion_->config().in_channels;
    const size_t n = size_t(channels * plan.latent_height * plan.latent_width);
    const std::vector<float> mask = latent_mask(request, plan);
    const auto rng = make_rng(request.rng);
    const auto own_rng =
        request.sampler_rng && *request.sampler_rng != request.rng ? make_rng(*request.sampler_rng) : nullptr;
    Rng & sampler_rng = own_rng != nullptr ? *own_rng : *rng;
    const int steps = int(plan.sigmas.size()) - 1;
    for (int b = 0; b < request.batch; ++b) {
        rng->seed(uint64_t(plan.seed + b));
        sampler_rng.seed(uint64_t(plan.seed + b));
        std::vector<float> x(n);
        rng->normal(x.data(), n);
        watch.floats(picture_prefix(b) + "noise", {1, channels, plan.latent_height, plan.latent_width}, x);
        mix_noise(init.empty() ? nullptr : init.data(), x.data(), plan.sigmas.front(), n, x.data());
        Sampler sampler(request.sampler, request.eta, plan.extra);
        Trajectory way = {request,
                          plan,
                          callbacks,
                          *diffusion_,
                          cond,
                          uncond ? &*uncond : nullptr,
                          init,
                          mask,
                          watch,
                          cancel_,
                          Guidance(request.cfg_scale, steps, plan.extra),
                          steps,
                          b};
        const bool go_on = !callbacks.progress || callbacks.progress("sampling", uint64_t(b * steps),
                                                                     uint64_t(request.batch * steps));
        if (!go_on) cancel_ = true;
        const bool whole =
            sampler.run(x, plan.sigmas, sampler_rng, [&](const Evaluation & e) { return way.evaluate(e); });
        if (!whole) throw Error({"E_CANCELLED", {}, {}, "cancelled", {}});
        remove_noise_share(plan.sigmas.back(), n, x.data());
        watch.floats(picture_prefix(b) + "final_latent", {1, channels, plan.latent_height, plan.latent_width},
                     x);
        for (Runner * r : runners(Module::diffusion)) r->release();
        // Each picture is finished before the next one begins, so that stopping a batch loses none.
        if (b + 1 == request.batch)
            end_phase(Module::diffusion);
        else
            diffusion_->pause();
        decode(request, plan, b, x, callbacks, watch);
        // Within a limit the next picture's steps have its memory.
        if (b + 1 < request.batch && placement_[Module::vae].limited()) {
            decoder_.reset();
            give_back_freed_memory();
        }
    }
    end_phase(Module::vae);
}

} // namespace sd
