#include "apps/cli/without_effect.h"

#include <algorithm>

namespace cli {
namespace {

using Names = std::vector<const char *>;

// Modes a group of options is for; options that are for others than their group.
struct Place {
    const char * name;
    std::vector<Mode> modes;
};

const std::vector<Place> & groups() {
    static const std::vector<Place> list = {
        {"Model files", {Mode::img_gen, Mode::inspect, Mode::convert, Mode::quantize, Mode::compare}},
        {"The picture", {Mode::img_gen, Mode::compare}},
        {"Sampling", {Mode::img_gen, Mode::compare}},
        {"The VAE", {Mode::img_gen, Mode::compare}},
        {"Output", {Mode::img_gen}},
        {"Devices and memory", {Mode::img_gen, Mode::compare}},
        {"Looking into files (-M inspect, -M metadata)", {Mode::inspect, Mode::metadata}},
        {"Quantizing (-M quantize)", {Mode::quantize}},
        {"Comparing two models (-M compare)", {Mode::compare}}};
    return list;
}

const std::vector<Place> & options() {
    static const std::vector<Place> list = {
        {"--tokenizer", {Mode::img_gen, Mode::quantize, Mode::compare}},
        // For calibration.
        {"--steps", {Mode::img_gen, Mode::quantize, Mode::compare}},
        {"--cfg-scale", {Mode::img_gen, Mode::quantize, Mode::compare}},
        {"--width", {Mode::img_gen, Mode::quantize, Mode::compare}},
        {"--height", {Mode::img_gen, Mode::quantize, Mode::compare}},
        {"--seed", {Mode::img_gen, Mode::quantize, Mode::compare}},
        {"--type", {Mode::img_gen, Mode::convert, Mode::compare}},
        {"--tensor-type-rules", {Mode::img_gen, Mode::convert, Mode::compare}},
        {"--keep-loaded", {Mode::img_gen, Mode::compare}},
        {"--no-mmap", {Mode::img_gen, Mode::compare}},
        {"--lora-model-dir", {Mode::img_gen, Mode::compare}},
        {"--lora-apply-mode", {Mode::img_gen, Mode::compare}},
        {"--threads", {Mode::img_gen, Mode::convert, Mode::quantize, Mode::compare}},
        {"--output", {Mode::img_gen, Mode::convert, Mode::quantize, Mode::compare}},
        {"--verbose",
         {Mode::img_gen, Mode::inspect, Mode::convert, Mode::quantize, Mode::metadata, Mode::compare}},
        {"--color",
         {Mode::img_gen, Mode::inspect, Mode::convert, Mode::quantize, Mode::metadata, Mode::compare}},
        {"--report", {Mode::quantize, Mode::compare}},
        {"--json", {Mode::inspect}},
        {"--layers", {Mode::inspect}},
        {"--image", {Mode::metadata}},
        {"--metadata-format", {Mode::metadata}}};
    return list;
}

const Place * find(const std::vector<Place> & places, const std::string & name) {
    const auto same = [&](const Place & place) { return place.name == name; };
    const auto found = std::find_if(places.begin(), places.end(), same);
    return found != places.end() ? &*found : nullptr;
}

} // namespace

bool has_mode(const std::string & name, const std::string & group, Mode mode) {
    const Place * place = find(options(), name);
    if (place == nullptr) place = find(groups(), group);
    // Groups that are not listed are for all modes.
    return place == nullptr ||
           std::find(place->modes.begin(), place->modes.end(), mode) != place->modes.end();
}

namespace {

// Options of picture generation that others leave nothing to do.
struct Rule {
    bool applies;
    Names names;
    const char * why;
};

std::vector<Rule> rules(const Arguments & a) {
    const bool no_picture = a.init_image.empty(), sigmas = !a.sigmas.empty();
    const bool one_file = a.batch_count == 1 && a.prompts.empty() && a.output.find('%') == std::string::npos;
    // Extra arguments can ask for guidance in their own ways.
    const bool no_guidance = a.cfg_scale == 1.0f && a.extra_sample_args.empty();
    return {
        {no_picture, {"--strength"}, "is for --init-img, which is not given"},
        {no_guidance, {"--negative-prompt", "--negative-prompt-file"}, "has no effect at --cfg-scale 1"},
        {sigmas, {"--steps", "--scheduler", "--flow-shift"}, "has no effect with --sigmas"},
        {!a.vae_tiling,
         {"--vae-tile-size", "--vae-relative-tile-size", "--vae-tile-overlap"},
         "has no effect without --vae-tiling, unless memory makes tiles necessary"},
        {!a.vae_relative_tile_size.empty(), {"--vae-tile-size"}, "gives way to --vae-relative-tile-size"},
        {a.preview == "none", {"--preview-path", "--preview-interval"}, "has no effect without --preview"},
        {one_file, {"--output-begin-idx"}, "has no effect: there is one picture and no number in its name"}};
}

} // namespace

std::vector<std::string> without_effect(const Arguments & a) {
    std::vector<std::string> lines;
    for (const auto & [name, group] : a.given) {
        if (!has_mode(name, group, a.mode)) {
            lines.push_back(name + " has no effect with -M " + mode_name(a.mode));
            continue;
        }
        if (a.mode != Mode::img_gen) continue;
        for (const Rule & rule : rules(a)) {
            const auto is_it = [&, &given = name](const char * n) { return given == n; };
            if (!rule.applies || std::none_of(rule.names.begin(), rule.names.end(), is_it)) continue;
            lines.push_back(name + " " + rule.why);
            break;
        }
    }
    return lines;
}

} // namespace cli
