#include "pipeline/diffusion.h"

#include "base/error.h"
#include "base/memory.h"
#include "models/krea2/tokens.h"
#include "pipeline/spread.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

void watch_outputs(const Graph & g, const std::string & before, Watch & watch) {
    for (const auto & [name, tensor] : g.outputs()) {
        std::vector<int64_t> shape;
        for (int i = ggml_n_dims(tensor) - 1; i >= 0; --i) shape.push_back(tensor->ne[i]);
        watch.floats(before + name, shape, Runner::floats(tensor));
    }
}

} // namespace

Diffusion::Diffusion(const ModelTable & table, const std::vector<Runner *> & runners,
                     const Weights::Options & options, const ParallelOptions & loading)
    : config_(krea2_config(table)), weights_(table, options), model_(weights_, config_),
      text_(runners, weights_, model_.text_stages(), model_.most_nodes(), "text part of the diffusion model"),
      steps_(runners, weights_, model_.velocity_stages(), model_.most_nodes(), "diffusion model") {
    require_complete(table, check_table(table, krea2_tensors(config_)), "Krea 2 model");
    spread_blocks(weights_, runners, "diffusion model");
    if (always_there())
        weights_.load(loading);
    else
        weights_.prepare(loading);
}

void Diffusion::pause() {
    if (always_there()) return;
    steps_.pause();
    give_back_freed_memory();
}

void Diffusion::rest() {
    text_.rest();
    steps_.rest();
}

Diffusion::Prompt Diffusion::prepare(const TextContext & context, const std::string & name, Watch & watch,
                                     const std::atomic<bool> * cancel) {
    if (context.features != config_.text_layers * config_.text_dim) {
        throw Error({"E_MISMATCH",
                     {},
                     {},
                     "the text encoder gives " + std::to_string(context.features) +
                         " features for each token, and the diffusion model reads " +
                         std::to_string(config_.text_layers) + " times " + std::to_string(config_.text_dim),
                     "the two files do not belong together"});
    }
    steps_.rest();
    StagedModel::Run run;
    run.watched = watch.on();
    run.cancel = cancel;
    if (watch.on()) run.seen = [&](const Graph & g) { watch_outputs(g, "deep.step1." + name + ".", watch); };
    HostValues values = {{"context", HostValue::of({context.features, context.tokens}, context.values)}};
    return {name, context.tokens, text_.run(std::move(values), run).at("text").floats()};
}

// Sizes; the values are added for a run.
HostValues Diffusion::step_values(int64_t text_tokens, int64_t height, int64_t width) const {
    const int64_t patches = krea2_patches(height) * krea2_patches(width);
    constexpr int64_t area = Krea2Config::patch * Krea2Config::patch;
    return {{"patches", HostValue::of({config_.in_channels * area, patches}, {})},
            {"timestep", HostValue::of({config_.timestep_dim}, {})},
            {"text", HostValue::of({config_.features, text_tokens}, {})},
            {"rope", HostValue::of({2, 2, config_.head_dim / 2, text_tokens + patches}, {})}};
}

void Diffusion::plan_steps(int64_t text_tokens, int64_t height, int64_t width,
                           const std::atomic<bool> * cancel) {
    if (always_there()) return;
    text_.rest();
    steps_.plan(step_values(text_tokens, height, width), cancel);
}

std::vector<uint64_t> Diffusion::memory_of_step(int64_t text_tokens, int64_t height, int64_t width) {
    return steps_.memory_of(step_values(text_tokens, height, width));
}

std::string Diffusion::explain_step(int64_t text_tokens, int64_t height, int64_t width, bool json) {
    return steps_.explain(step_values(text_tokens, height, width), json);
}

HostValues Diffusion::run_step(const Prompt & prompt, const std::vector<float> & latent, int64_t height,
                               int64_t width, float sigma, const StagedModel::Run & run) {
    text_.rest();
    HostValues values = step_values(prompt.tokens, height, width);
    const auto set = [&](const char * name, const std::vector<float> & floats) {
        HostValue & v = values.at(name);
        v = HostValue::of({v.ne.begin(), v.ne.end()}, floats);
    };
    const int64_t patch = values.at("patches").ne[0], count = values.at("patches").ne[1];
    std::vector<float> patches(size_t(patch * count));
    krea2_patchify(latent.data(), config_.in_channels, height, width, patches.data());
    set("patches", patches);
    set("timestep", krea2_timestep(sigma, config_.timestep_dim));
    set("text", prompt.values);
    set("rope", krea2_rope(config_, prompt.tokens, krea2_patches(height), krea2_patches(width)));
    return steps_.run(std::move(values), run);
}

std::string Diffusion::find_not_finite(const Prompt & prompt, const std::vector<float> & latent,
                                       int64_t height, int64_t width, float sigma,
                                       const std::atomic<bool> * cancel) {
    const auto finite = [](const std::vector<float> & values) {
        return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
    };
    if (!finite(prompt.values)) return "the text part";
    std::string found;
    StagedModel::Run run;
    run.watched = true;
    run.cancel = cancel;
    run.seen = [&](const Graph & g) {
        for (const auto & [name, tensor] : g.outputs()) {
            if (found.empty() && !finite(Runner::floats(tensor))) found = name;
        }
    };
    run_step(prompt, latent, height, width, sigma, run);
    return found;
}

std::vector<float> Diffusion::velocity(const Prompt & prompt, const std::vector<float> & latent,
                                       int64_t height, int64_t width, float sigma, const std::string & deep,
                                       Watch & watch, const std::atomic<bool> * cancel) {
    StagedModel::Run run;
    run.watched = watch.on() && !deep.empty();
    run.cancel = cancel;
    if (run.watched) run.seen = [&](const Graph & g) { watch_outputs(g, deep, watch); };
    const std::vector<float> patches =
        run_step(prompt, latent, height, width, sigma, run).at("velocity").floats();
    std::vector<float> out(size_t(config_.out_channels * height * width));
    krea2_unpatchify(patches.data(), config_.out_channels, height, width, out.data());
    return out;
}

} // namespace sd
