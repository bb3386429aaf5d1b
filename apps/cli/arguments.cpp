#include "apps/cli/arguments.h"

#include "apps/cli/checks.h"
#include "apps/cli/console.h"
#include "apps/cli/foreign_options.h"
#include "apps/cli/help.h"
#include "apps/cli/suggestion.h"
#include "stable-diffusion.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <vector>

namespace cli {
namespace {

// A list of the engine: as words, and as "a, b, c".
std::vector<std::string> words(const char * (*name)(int)) {
    std::vector<std::string> list;
    for (int i = 0; name(i) != nullptr; ++i) list.push_back(name(i));
    return list;
}
std::string joined(const std::vector<std::string> & list) {
    std::string text;
    for (const std::string & word : list) text += (text.empty() ? "" : ", ") + word;
    return text;
}
const char * rng_name(int i) { return sd_rng_type_name(rng_type_t(i)); }
const char * lora_mode_name(int i) { return sd_lora_apply_mode_name(lora_apply_mode_t(i)); }

// A name the engine resolves, or says why not. list: those it resolves.
CLI::Validator of_engine(const char * (*resolve)(const char *), const char * (*list)(int)) {
    return CLI::Validator(
        [resolve, list](const std::string & name) {
            if (resolve(name.c_str()) != nullptr) return std::string();
            const std::string error = sd_last_error();
            return error + did_you_mean(name, words(list));
        },
        std::string());
}

// Larger ones are slips of the keyboard; the engine has the last word.
constexpr int kMostPixels = 16384, kMostBatch = 10000, kMostSteps = 10000, kMostThreads = 512;
constexpr double kLarge = 1e6; // for numbers whose real limits the engine knows

// Options of one group, with the group's name given once.
class Group {
  public:
    Group(CLI::App & app, std::string name) : app_(app), name_(std::move(name)) {}

    template <class T>
    CLI::Option * option(const char * flags, T & value, const std::string & text, const char * type) {
        return app_.add_option(flags, value, text)->group(name_)->type_name(type);
    }
    CLI::Option * flag(const char * flags, bool & value, const std::string & text) {
        return app_.add_flag(flags, value, text)->group(name_);
    }
    // Several uses are joined. Not by CLI11's delimiter, which would drop empty places instead of leaving
    // them to be refused.
    CLI::Option * list(const char * flags, std::string & value, const std::string & text, const char * type) {
        const auto take = [&value](const std::string & joined) {
            value = joined;
            std::replace(value.begin(), value.end(), '\n', ',');
        };
        return app_.add_option_function<std::string>(flags, take, text)
            ->group(name_)
            ->type_name(type)
            ->multi_option_policy(CLI::MultiOptionPolicy::Join);
    }

  private:
    CLI::App & app_;
    std::string name_;
};

void add_model_options(CLI::App & app, Arguments & a) {
    Group g(app, "Model files");
    const std::vector<std::string> types = words(sd_weight_type_name);
    g.option("-m,--model", a.model, "a checkpoint that holds everything, or any one part", "FILE");
    g.option("--diffusion-model", a.diffusion_model, "the diffusion model", "FILE");
    g.option("--llm,--qwen2vl", a.llm, "the language model that encodes the prompt", "FILE");
    g.option("--vae", a.vae, "the VAE", "FILE");
    g.option("--tokenizer", a.tokenizer,
             "tokenizer.json, vocab.json or their folder, for an --llm without vocabulary", "FILE");
    g.option("--type", a.type,
             "turn float weights into this type while loading or converting: " + joined(types), "TYPE")
        ->check(one_of(types));
    g.list("--tensor-type-rules", a.tensor_type_rules,
           "types by name, before --type: \"regex=type,regex=type\"", "RULES");
    g.option("--assume-int8-group", a.assume_int8_group,
             "rotation group of INT8 weights whose file does not say it; 1: not rotated", "G")
        ->check(one_of({"1", "4", "16", "64", "256", "1024", "4096"}));
    g.flag("--keep-loaded", a.keep_loaded, "keep all parts in memory between pictures");
    g.flag("--no-mmap", a.no_mmap, "read weights into memory instead of using them in the file");
    const std::vector<std::string> modes = words(lora_mode_name);
    g.option("--lora-model-dir", a.lora_model_dir, "where <lora:NAME:STRENGTH> of the prompt is (.)", "DIR");
    g.option("--lora-apply-mode", a.lora_apply_mode,
             joined(modes) + ": add adapters while weights are loaded, or in each step (auto)", "MODE")
        ->check(one_of(modes));
}

void add_picture_options(CLI::App & app, Arguments & a) {
    Group g(app, "The picture");
    g.option("-p,--prompt", a.prompt, "what to show; (x:1.3) weighs words", "TEXT");
    g.option("--prompt-file", a.prompt_file, "the prompt from a file, UTF-8", "FILE");
    g.option("--prompts", a.prompts, "many prompts from a file, one in each line, instead of --prompt",
             "FILE")
        ->check(not_empty());
    g.option("-n,--negative-prompt", a.negative_prompt, "what not to show; used when --cfg-scale is not 1",
             "TEXT");
    g.option("--negative-prompt-file", a.negative_prompt_file, "the same from a file", "FILE");
    g.option("-W,--width", a.width, "width in pixels (512, or the first input picture's)", "N")
        ->check(whole_number(1, kMostPixels));
    g.option("-H,--height", a.height, "height in pixels", "N")->check(whole_number(1, kMostPixels));
    g.option("-s,--seed", a.seed, "number that decides the noise (42); below 0: drawn", "N")
        ->check(whole_number(INT64_MIN, INT64_MAX));
    g.option("-b,--batch-count", a.batch_count, "pictures, with the seeds N, N + 1, ...", "N")
        ->check(whole_number(1, kMostBatch));
    g.option("-t,--threads", a.threads, "threads; below 1: one for each physical core", "N")
        ->check(whole_number(-kMostThreads, kMostThreads));
    g.option("-i,--init-img", a.init_image,
             "begin from this PNG, JPEG or WebP; cropped and resized when both -W and -H are given", "FILE");
    g.option("--mask", a.mask, "white: paint anew, black: keep the initial picture", "FILE");
    g.option("--strength", a.strength, "how much of the initial picture may change, 0 to 1 (0.75)", "X")
        ->check(number(0.0, 1.0));
}

void add_sampling_options(CLI::App & app, Arguments & a) {
    Group g(app, "Sampling");
    const std::vector<std::string> rngs = words(rng_name);
    g.option("--steps", a.steps, "steps (20)", "N")->check(whole_number(1, kMostSteps));
    g.option("--cfg-scale", a.cfg_scale, "guidance by the prompt (7); 1: none, twice as fast", "X")
        ->check(number(0.0, kLarge));
    // The engine knows why some names cannot be used.
    g.option("--sampling-method", a.sampling_method, joined(words(sd_sampler_name)), "NAME")
        ->check(of_engine([](const char * name) { return sd_resolve_sampler(name); }, sd_sampler_name));
    g.option("--scheduler", a.scheduler, joined(words(sd_scheduler_name)), "NAME")
        ->check(of_engine([](const char * name) { return sd_resolve_scheduler(nullptr, name); },
                          sd_scheduler_name));
    g.list("--sigmas", a.sigmas, "noise levels instead of a scheduler: \"1,0.7,0.3,0\"", "LIST")
        ->check(number_list(0.0, 1.0));
    g.option("--flow-shift", a.flow_shift, "exponent that moves steps towards the noise (1.15)", "X")
        ->check(number(-kLarge, kLarge));
    g.option("--eta", a.eta, "how much noise methods that add some add", "X")->check(number(0.0, kLarge));
    g.option("--rng", a.rng, "whose random numbers the noise is: " + joined(rngs), "NAME")
        ->check(one_of(rngs));
    g.option("--sampler-rng", a.sampler_rng, "the same for noise during sampling (as --rng)", "NAME")
        ->check(one_of(rngs));
    g.list("--extra-sample-args", a.extra_sample_args, "\"key=value,...\" for methods and schedulers",
           "LIST");
}

void add_vae_options(CLI::App & app, Arguments & a) {
    Group g(app, "The VAE");
    constexpr int kLeastTile = 4;
    constexpr double kMostTiles = 1000.0;
    g.flag("--vae-tiling", a.vae_tiling,
           "work in tiles: less memory, the same picture but for small differences");
    g.option("--vae-tile-size", a.vae_tile_size, "X or XxY, in pixels of the latent picture (32)", "SIZE")
        ->check(whole_pair(kLeastTile, kMostPixels));
    g.option("--vae-relative-tile-size", a.vae_relative_tile_size,
             "the same as a fraction of the picture or, above 1, as a number of tiles", "SIZE")
        ->check(number_pair(0.0, kMostTiles));
    g.option("--vae-tile-overlap", a.vae_tile_overlap, "of a tile, 0 to 0.5 (0.5)", "X")
        ->check(number(0.0, 0.5));
}

void add_output_options(CLI::App & app, Arguments & a) {
    Group g(app, "Output");
    constexpr int kMostIndex = 1'000'000'000;
    g.option("-o,--output", a.output,
             "where to write: .png, .jpg, .webp; %03d stands for the number (output.png); "
             "-M convert: .safetensors or .gguf (output.gguf)",
             "FILE")
        ->check(not_empty());
    g.option("--grid", a.grid, "all pictures on one sheet, too", "FILE")->check(not_empty());
    g.option("--output-begin-idx", a.output_begin_idx, "number of the first picture (0)", "N")
        ->check(whole_number(-1, kMostIndex));
    g.flag("--disable-image-metadata", a.disable_image_metadata,
           "do not write prompt and settings into the file");
    g.option("--preview", a.preview, "none or proj: a small picture after each step", "KIND")
        ->check(one_of({"none", "proj"}));
    g.option("--preview-path", a.preview_path, "where the preview is written (preview.png)", "FILE")
        ->check(not_empty());
    g.option("--preview-interval", a.preview_interval, "steps between two previews (1)", "N")
        ->check(whole_number(1, kMostSteps));
    g.option("--dump-tensors", a.dump_tensors, "write the tensors on the way as safetensors", "FILE");
    g.option("--explain", a.explain, "write which kernels and fusions run each step, and why: .json or text",
             "FILE");
    g.option("--trace", a.trace, "record what runs when, for chrome://tracing", "FILE");
    g.flag("--check-nan", a.check_nan, "find the first layer whose values are not finite");
    g.flag("-v,--verbose", a.verbose, "tell more about what is done");
    g.flag("--color", a.color, "color the messages");
}

void add_inspect_options(CLI::App & app, Arguments & a) {
    Group g(app, "Looking into files (-M inspect, -M metadata)");
    g.flag("--json", a.json, "inspect: print JSON instead of text");
    g.flag("--layers", a.layers, "inspect: print a line for every layer, too");
    g.option("--image", a.image, "metadata: the picture whose prompt and settings are printed", "FILE");
    g.option("--metadata-format", a.metadata_format, "metadata: text or json (text)", "FORMAT")
        ->check(one_of({"text", "json"}));
}

// What is always so. Programs and scripts for other builds give these options.
void add_granted_options(CLI::App & app, Arguments & a) {
    Group g(app, "Devices");
    g.flag("--list-devices", a.list_devices, "print the devices there are, and end");
    static bool granted;
    for (const char * name : {"--fa", "--diffusion-fa"}) g.flag(name, granted, "attention is always so");
    for (const char * name : {"--diffusion-conv-direct", "--vae-conv-direct"})
        g.flag(name, granted, "convolutions are always so");
    g.flag("--mmap", granted, "weights are used where they are in the file, without --no-mmap");
    g.flag("--eager-load", granted, "all files are opened and checked at the start, always");
}

const std::map<std::string, Mode> & modes() {
    static const std::map<std::string, Mode> list = {
        {"img_gen", Mode::img_gen},   {"inspect", Mode::inspect}, {"convert", Mode::convert},
        {"quantize", Mode::quantize}, {"compare", Mode::compare}, {"metadata", Mode::metadata}};
    return list;
}

// Which options are on the command line.
std::map<std::string, std::string> given_options(const CLI::App & app) {
    std::map<std::string, std::string> given;
    for (const CLI::Option * option : app.get_options()) {
        if (option->count() > 0 && !option->get_lnames().empty())
            given["--" + option->get_lnames().front()] = option->get_group();
    }
    return given;
}

CLI::Option * add_mode(CLI::App & app, std::string & mode) {
    std::vector<std::string> names;
    for (const auto & [name, value] : modes()) names.push_back(name);
    return app
        .add_option("-M,--mode", mode,
                    "img_gen (the default): make pictures; inspect: tell what is in a model file; "
                    "convert: write a model as another file, with --type; "
                    "quantize: write it with weights in an INT8 or INT4 format; "
                    "compare: show what two models make of the same prompts; "
                    "metadata: print how a picture was made")
        ->type_name("MODE")
        ->check(one_of(names));
}

// What --help lists.
std::vector<std::string> shown_options(const CLI::App & app) {
    std::vector<std::string> names;
    for (const CLI::Option * option : app.get_options()) {
        if (option->get_group().empty()) continue;
        for (const std::string & name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
}

// The first thing on the command line that is nothing; "": all is something.
constexpr size_t kLongName = 40;
std::string unknown_in(const CLI::App & app, const std::vector<std::string> & rest) {
    for (const std::string & word : rest) {
        if (word.size() > 1 && word[0] == '-')
            return "there is no option " + (word.size() <= kLongName ? word : quoted(word)) +
                   did_you_mean(word, shown_options(app));
    }
    if (rest.empty()) return {};
    const std::string unknown = quoted(rest[0]) + " belongs to no option";
    // As with programs whose modes are words of their own.
    return unknown + (modes().contains(rest[0]) ? "; did you mean -M " + rest[0] + "?" : "");
}

void refuse(const std::string & message) { print_error(message + " (sd-cli --help lists the options)"); }

} // namespace

const char * mode_name(Mode mode) {
    for (const auto & [name, value] : modes()) {
        if (value == mode) return name.c_str();
    }
    return "";
}

bool parse(int argc, char ** argv, Arguments & a, int & exit_status) {
    CLI::App app("Makes pictures with quantized image models, looks into their files and converts them.");
    app.name("sd-cli");
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.set_version_flag("--version", std::string("sd-cli ") + sd_version());
    app.allow_extras();
    std::string mode = "img_gen";
    add_mode(app, mode);
    add_model_options(app, a);
    add_picture_options(app, a);
    add_sampling_options(app, a);
    add_vae_options(app, a);
    add_output_options(app, a);
    add_inspect_options(app, a);
    add_quantize_options(app, a.quantize);
    add_compare_options(app, a.compare);
    add_memory_options(app, a.memory);
    add_granted_options(app, a);
    add_foreign_options(app);
    exit_status = 1;
    try {
        app.parse(argc, argv);
        a.mode = modes().at(mode);
        a.given = given_options(app);
        settle(a.memory);
        if (a.mode == Mode::convert && app.count("--output") == 0) a.output = "output.gguf";
        if (a.mode == Mode::quantize) {
            take_models(app, a.model, a.quantize);
            if (app.count("--output") == 0) a.output.clear();
        }
        if (a.mode != Mode::quantize && !a.quantize.loras.empty())
            throw CLI::ValidationError(
                "--lora is for -M quantize; pictures take <lora:NAME:STRENGTH> in the prompt");
        const std::string unknown = unknown_in(app, app.remaining());
        if (unknown.empty()) return true;
        refuse(unknown);
    } catch (const CLI::CallForHelp &) {
        // Of one mode, when it is named beside --help.
        const bool named = app.count("--mode") > 0 && modes().contains(mode);
        exit_status = print_result(named ? help_text(app, modes().at(mode)) : help_text(app)) ? 0 : 1;
    } catch (const CLI::CallForVersion & version) {
        exit_status = print_result(version.what() + std::string("\n")) ? 0 : 1;
    } catch (const CLI::ParseError & error) {
        refuse(message_of(error));
    }
    return false;
}

} // namespace cli
