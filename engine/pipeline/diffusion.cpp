#include "pipeline/diffusion.h"

#include "base/error.h"
#include "models/krea2/tokens.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

void watch_outputs(const Graph & g, const Runner & runner, const std::string & before, Watch & watch) {
    for (const auto & [name, tensor] : g.outputs()) {
        std::vector<int64_t> shape;
        for (int i = ggml_n_dims(tensor) - 1; i >= 0; --i) shape.push_back(tensor->ne[i]);
        watch.floats(before + name, shape, runner.floats(tensor));
    }
}

} // namespace

Diffusion::Diffusion(const ModelTable & table, Runner & runner, const Weights::Options & options,
                     const ParallelOptions & loading)
    : config_(krea2_config(table)), weights_(table, options), model_(weights_, config_), runner_(runner) {
    require_complete(table, check_table(table, krea2_tensors(config_)), "Krea 2 model");
    weights_.load(loading);
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
    Graph g(model_.most_nodes());
    if (watch.on()) g.watch_everything();
    ggml_tensor * in = g.input("context", GGML_TYPE_F32, {context.features, context.tokens});
    ggml_tensor * out = g.output("text", model_.text(g, in));
    runner_.allocate(g);
    runner_.set(in, context.values);
    runner_.compute(g, cancel);
    weights_.check_files();
    if (watch.on()) watch_outputs(g, runner_, "deep.step1." + name + ".", watch);
    return {name, context.tokens, runner_.floats(out)};
}

Diffusion::Step Diffusion::build_step(int64_t text_tokens, int64_t height, int64_t width,
                                      bool watched) const {
    const int64_t patches = krea2_patches(height) * krea2_patches(width);
    Step step = {Graph(model_.most_nodes()), {}, nullptr};
    Graph & g = step.graph;
    if (watched) g.watch_everything();
    constexpr int64_t area = Krea2Config::patch * Krea2Config::patch;
    step.in.patches = g.input("patches", GGML_TYPE_F32, {config_.in_channels * area, patches});
    step.in.timestep = g.input("timestep", GGML_TYPE_F32, {config_.timestep_dim});
    step.in.text = g.input("text", GGML_TYPE_F32, {config_.features, text_tokens});
    step.in.rope = g.input("rope", GGML_TYPE_F32, {2, 2, config_.head_dim / 2, text_tokens + patches});
    step.out = g.output("velocity", model_.velocity(g, step.in));
    return step;
}

size_t Diffusion::memory_of_step(int64_t text_tokens, int64_t height, int64_t width) {
    return runner_.memory_of(build_step(text_tokens, height, width, false).graph);
}

std::string Diffusion::explain_step(int64_t text_tokens, int64_t height, int64_t width, bool json) {
    return runner_.explain(build_step(text_tokens, height, width, false).graph, json);
}

void Diffusion::run_step(Step & step, const Prompt & prompt, const std::vector<float> & latent,
                         int64_t height, int64_t width, float sigma, const std::atomic<bool> * cancel) {
    runner_.allocate(step.graph);
    std::vector<float> patches(size_t(ggml_nelements(step.in.patches)));
    krea2_patchify(latent.data(), config_.in_channels, height, width, patches.data());
    runner_.set(step.in.patches, patches);
    runner_.set(step.in.timestep, krea2_timestep(sigma, config_.timestep_dim));
    runner_.set(step.in.text, prompt.values);
    runner_.set(step.in.rope,
                krea2_rope(config_, prompt.tokens, krea2_patches(height), krea2_patches(width)));
    runner_.compute(step.graph, cancel);
    weights_.check_files();
}

std::string Diffusion::find_not_finite(const Prompt & prompt, const std::vector<float> & latent,
                                       int64_t height, int64_t width, float sigma,
                                       const std::atomic<bool> * cancel) {
    const auto finite = [](const std::vector<float> & values) {
        return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
    };
    if (!finite(prompt.values)) return "the text part";
    Step step = build_step(prompt.tokens, height, width, true);
    run_step(step, prompt, latent, height, width, sigma, cancel);
    for (const auto & [name, tensor] : step.graph.outputs()) {
        if (!finite(runner_.floats(tensor))) return name;
    }
    return {};
}

std::vector<float> Diffusion::velocity(const Prompt & prompt, const std::vector<float> & latent,
                                       int64_t height, int64_t width, float sigma, const std::string & deep,
                                       Watch & watch, const std::atomic<bool> * cancel) {
    const bool watched = watch.on() && !deep.empty();
    Step step = build_step(prompt.tokens, height, width, watched);
    run_step(step, prompt, latent, height, width, sigma, cancel);
    if (watched) watch_outputs(step.graph, runner_, deep, watch);
    std::vector<float> out(size_t(config_.out_channels * height * width));
    krea2_unpatchify(runner_.floats(step.out).data(), config_.out_channels, height, width, out.data());
    return out;
}

} // namespace sd
