#include "apps/cli/generation_data.h"

#include "apps/cli/checks.h"
#include "stable-diffusion.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdio>
#include <filesystem>

namespace cli {
namespace {

using Json = nlohmann::json;

constexpr char kProject[] = "convrot.cpp", kJsonMark[] = ", SDCPP: ";

std::string fixed(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.*f", digits, value);
    return text;
}

// The number people wrote: 0.1f is 0.1 and not 0.10000000149.
Json number(float value) {
    if (!std::isfinite(value)) return nullptr;
    char text[48];
    const auto [end, problem] = std::to_chars(text, text + sizeof(text), value);
    double exact = 0.0;
    std::from_chars(text, end, exact);
    return problem == std::errc() ? Json(exact) : Json(nullptr);
}

std::string file_name(const std::string & path) { return std::filesystem::path(path).filename().string(); }

// The numbers of "1,0.5,0", also in brackets; the engine has accepted the list.
std::vector<float> sigmas_of(const std::string & list) {
    std::vector<float> values;
    for (size_t at = 0; at < list.size();) {
        float value = 0.0f;
        const auto [end, problem] = std::from_chars(list.data() + at, list.data() + list.size(), value);
        if (problem == std::errc()) {
            values.push_back(value);
            at = size_t(end - list.data());
        } else {
            ++at;
        }
    }
    return values;
}

Json models_of(const Arguments & a) {
    Json models = Json::object();
    const std::pair<const char *, const std::string &> files[] = {
        {"model", a.model}, {"diffusion_model", a.diffusion_model}, {"llm", a.llm}, {"vae", a.vae}};
    for (const auto & [key, path] : files) {
        if (!path.empty()) models[key] = file_name(path);
    }
    return models;
}

Json tiling_of(const Arguments & a) {
    Json tiling = {{"enabled", true}, {"target_overlap", number(a.vae_tile_overlap)}};
    Pair pair = {};
    if (parse_pair(a.vae_tile_size, pair)) {
        tiling["tile_size_x"] = int(pair.x);
        tiling["tile_size_y"] = int(pair.y);
    }
    if (parse_pair(a.vae_relative_tile_size, pair)) {
        tiling["rel_size_x"] = number(float(pair.x));
        tiling["rel_size_y"] = number(float(pair.y));
    }
    return tiling;
}

Json sampling_of(const Arguments & a, const Generation & g) {
    Json sampling = {{"steps", a.steps},
                     {"method", g.sampler},
                     {"eta", number(a.eta)},
                     {"flow_shift", number(a.flow_shift)},
                     {"guidance", {{"txt_cfg", number(a.cfg_scale)}}}};
    if (a.sigmas.empty()) sampling["scheduler"] = g.scheduler;
    if (!a.extra_sample_args.empty()) sampling["extra_sample_args"] = a.extra_sample_args;
    for (const float sigma : sigmas_of(a.sigmas)) sampling["custom_sigmas"].push_back(number(sigma));
    return sampling;
}

std::string json_text(const Arguments & a, const Generation & g, int64_t seed) {
    Json json = {{"schema", "sdcpp.image.params/v1"},
                 {"mode", "img_gen"},
                 {"generator", {{"name", kProject}, {"version", sd_version()}}},
                 {"seed", seed},
                 {"width", g.width},
                 {"height", g.height},
                 {"prompt", {{"positive", g.prompt}, {"negative", g.negative_prompt}}},
                 {"sampling", sampling_of(a, g)},
                 {"models", models_of(a)},
                 {"rng", a.rng}};
    if (!a.sampler_rng.empty()) json["sampler_rng"] = a.sampler_rng;
    if (!a.init_image.empty()) json["strength"] = number(a.strength);
    if (a.vae_tiling) json["vae_tiling"] = tiling_of(a);
    for (const Lora & lora : g.loras) {
        json["loras"].push_back({{"name", file_name(lora.path)},
                                 {"multiplier", number(lora.strength)},
                                 {"is_high_noise", false}});
    }
    // File names may be anything.
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace

std::string generation_text(const Arguments & a, const Generation & g, int64_t seed) {
    std::string text = (g.given_prompt.empty() ? g.prompt : g.given_prompt) + "\n";
    if (!g.negative_prompt.empty()) text += "Negative prompt: " + g.negative_prompt + "\n";
    text += "Steps: " + std::to_string(a.steps);
    const auto entry = [&](const char * name, const std::string & value) {
        text += std::string(", ") + name + ": " + value;
    };
    // A name that is no UTF-8 would make the whole text none.
    const auto file = [&](const char * name, const std::string & path) {
        if (path.empty()) return;
        const std::string quoted = Json(file_name(path)).dump(-1, ' ', false, Json::error_handler_t::replace);
        entry(name, Json::parse(quoted).get<std::string>());
    };
    entry("CFG scale", fixed(double(a.cfg_scale), 6));
    if (std::isfinite(a.eta)) entry("Eta", fixed(double(a.eta), 6));
    if (!a.extra_sample_args.empty()) entry("Extra sample args", a.extra_sample_args);
    entry("Seed", std::to_string(seed));
    entry("Size", std::to_string(g.width) + "x" + std::to_string(g.height));
    file("Model", a.model);
    entry("RNG", a.rng);
    if (!a.sampler_rng.empty()) entry("Sampler RNG", a.sampler_rng);
    if (!a.init_image.empty()) entry("Denoising strength", fixed(double(a.strength), 6));
    if (a.sigmas.empty()) {
        entry("Sampler", g.sampler + " " + g.scheduler);
    } else {
        entry("Sampler", g.sampler);
        std::string list;
        for (const float sigma : sigmas_of(a.sigmas))
            list += (list.empty() ? "" : ", ") + fixed(double(sigma), 4);
        entry("Custom Sigmas", "[" + list + "]");
    }
    file("TE", a.llm);
    file("Unet", a.diffusion_model);
    file("VAE", a.vae);
    entry("Version", std::string(kProject) + " " + sd_version());
    return text + kJsonMark + json_text(a, g, seed);
}

std::string json_of(const std::string & text) {
    // In the last line, where no prompt comes.
    const size_t line = text.rfind('\n');
    const size_t mark = text.find(kJsonMark, line == std::string::npos ? 0 : line);
    if (mark == std::string::npos) return {};
    const std::string json = text.substr(mark + sizeof(kJsonMark) - 1);
    return Json::accept(json) ? json : std::string();
}

} // namespace cli
