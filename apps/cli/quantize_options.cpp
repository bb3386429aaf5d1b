#include "apps/cli/quantize_options.h"

#include "apps/cli/checks.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <string_view>

namespace cli {
namespace {

constexpr const char * kGroup = "Quantizing (-M quantize)";

CLI::Option * option(CLI::App & app, const char * flags, std::string & value, const char * text,
                     const char * type) {
    return app.add_option(flags, value, text)->group(kGroup)->type_name(type);
}

void list(CLI::App & app, const char * flags, std::string & value, const char * text) {
    option(app, flags, value, text, "PATTERNS")
        ->multi_option_policy(CLI::MultiOptionPolicy::Join)
        ->delimiter(',')
        ->check(not_empty());
}

void option_of_size(CLI::App & app, const char * flags, uint64_t & value, const char * text) {
    const auto take = [&value, flags](const std::string & given) {
        if (!parse_size(given, value))
            throw CLI::ValidationError(std::string(flags) + ": " + quoted(given) +
                                       " is no size: 7.5GiB, 800MB, or bytes");
    };
    app.add_option_function<std::string>(flags, take, text)->group(kGroup)->type_name("SIZE");
}

// "FILE:0.8", or "FILE" for 1. A colon that no number follows belongs to the name.
LoraFile lora_file(const std::string & given) {
    const size_t colon = given.rfind(':');
    LoraFile lora = {given};
    if (colon == std::string::npos || colon == 0) return lora;
    std::string_view text = std::string_view(given).substr(colon + 1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), lora.strength);
    if (problem == std::errc() && end == text.data() + text.size() && std::isfinite(lora.strength))
        return {given.substr(0, colon), lora.strength};
    std::error_code missing;
    if (!std::filesystem::exists(given, missing) && std::filesystem::exists(given.substr(0, colon), missing))
        throw CLI::ValidationError("--lora: " + quoted(given.substr(colon + 1)) +
                                   " is no strength: FILE:0.8, or FILE alone for 1");
    return {given};
}

void add_loras(CLI::App & app, std::vector<LoraFile> & loras) {
    const auto take = [&loras](const std::vector<std::string> & all) {
        for (const std::string & given : all) loras.push_back(lora_file(given));
    };
    app.add_option_function<std::vector<std::string>>(
           "--lora", take, "merge this adapter before quantizing, with a strength (1); may be given again")
        ->group(kGroup)
        ->type_name("FILE[:X]")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->expected(1)
        ->check(not_empty());
}

} // namespace

void add_quantize_options(CLI::App & app, QuantizeArguments & q) {
    constexpr double kMostError = 100, kLeastError = 1e-9;
    option(app, "--format", q.format,
           "int8, int8-convrot (rotated), w4a4 or w4a8: what layers become; auto: the best mix for "
           "--target-size or --max-error",
           "FORMAT")
        ->check(one_of({"int8", "int8-convrot", "w4a4", "w4a8", "auto"}));
    option_of_size(app, "--target-size", q.target_size,
                   "auto: as good as a file of at most this size can be: 7.5GiB, 800MB, bytes");
    app.add_option("--max-error", q.max_error,
                   "auto: as small as a file with an error of at most X can be (0.03: 3 %)")
        ->group(kGroup)
        ->type_name("X")
        ->check(number(kLeastError, kMostError));
    app.add_option(
           "--group", q.group,
           "rotate by this group instead of the largest of 256, 64, 16, 4 that divides a layer's inputs")
        ->group(kGroup)
        ->type_name("G")
        ->check(one_of({"4", "16", "64", "256", "1024", "4096"}));
    option(
        app, "--preset", q.preset,
        "which layers, by model family: krea2, qwen3-vl, z-image, qwen-image, flux2-klein, wan, generic, ... "
        "(as the file tells); none: only --include and --rules",
        "NAME");
    list(app, "--include", q.include,
         "more layers: \"blocks.0.*,txtfusion.*\"; * and ? stand for characters");
    list(app, "--exclude", q.exclude, "layers that stay as they are");
    option(app, "--rules", q.rules,
           "a file of lines \"PATTERN = FORMAT\", \"PATTERN = FORMAT/GROUP\" or \"PATTERN = keep\"", "FILE");
    add_loras(app, q.loras);
    option(app, "--calibrate", q.calibrate,
           "error feedback from pictures of the prompts in this file, one in each line; with -m, the other "
           "model files only help to make them",
           "FILE")
        ->check(not_empty());
    option_of_size(app, "--calibrate-memory", q.calibrate_memory,
                   "for statistics that are gathered in one pass over the prompts (2GiB)");
    const auto flag = [&](const char * flags, bool & value, const char * text) {
        app.add_flag(flags, value, text)->group(kGroup);
    };
    flag("--header-settings", q.header_settings, "write the layers' settings into the file's header, too");
    flag("--force", q.force, "replace an output that exists");
    flag("--allow-nonfinite", q.allow_nonfinite, "take NaN and infinity in weights for 0");
    flag("--scale-search", q.scale_search,
         "search the scales with the least squared error: slower, better, other codes than the formulas'");
    flag("--verify", q.verify, "read the written file again and compare it with the input");
    app.add_option("--fail-above", q.fail_above,
                   "fail when the relative error of a layer is above X (0.02: 2 %)")
        ->group(kGroup)
        ->type_name("X")
        ->check(number(0.0, kMostError));
    option(app, "--report", q.report,
           "write what became of each layer as JSON; -M compare: how near each picture is", "FILE")
        ->check(not_empty());
}

void take_models(const CLI::App & app, std::string & model, QuantizeArguments & q) {
    std::vector<std::string> all = app.get_option("--model")->results();
    if (all.empty()) return;
    model = all.front();
    q.more_models.assign(all.begin() + 1, all.end());
}

} // namespace cli
