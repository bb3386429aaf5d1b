#include "apps/cli/arguments.h"

#include "apps/cli/console.h"
#include "apps/cli/foreign_options.h"
#include "stable-diffusion.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <map>

namespace cli {
namespace {

// "a, b, c" of a list of the engine.
std::string names(const char * (*name)(int)) {
    std::string text;
    for (int i = 0; name(i) != nullptr; ++i) text += (i > 0 ? ", " : "") + std::string(name(i));
    return text;
}

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
    // Several uses are joined.
    CLI::Option * list(const char * flags, std::string & value, const std::string & text, const char * type) {
        return option(flags, value, text, type)
            ->multi_option_policy(CLI::MultiOptionPolicy::Join)
            ->delimiter(',');
    }

  private:
    CLI::App & app_;
    std::string name_;
};

void add_model_options(CLI::App & app, Arguments & a) {
    Group g(app, "Model files");
    g.option("-m,--model", a.model, "a checkpoint that holds everything, or any one part", "FILE");
    g.option("--diffusion-model", a.diffusion_model, "the diffusion model", "FILE");
    g.option("--llm,--qwen2vl", a.llm, "the language model that encodes the prompt", "FILE");
    g.option("--vae", a.vae, "the VAE", "FILE");
    g.option("--tokenizer", a.tokenizer,
             "tokenizer.json, vocab.json or their folder, for an --llm without vocabulary", "FILE");
    g.option("--type", a.type,
             "turn float weights into this type while loading or converting: f32, f16, bf16, q8_0, q4_K, ...",
             "TYPE");
    g.list("--tensor-type-rules", a.tensor_type_rules,
           "types by name, before --type: \"regex=type,regex=type\"", "RULES");
    g.option("--assume-int8-group", a.assume_int8_group,
             "rotation group of INT8 weights whose file does not say it; 1: not rotated", "G")
        ->check(CLI::IsMember({1, 4, 16, 64, 256, 1024, 4096}));
    g.flag("--keep-loaded", a.keep_loaded, "keep all parts in memory between pictures");
    g.flag("--no-mmap", a.no_mmap, "read weights into memory instead of using them in the file");
    static bool mmap;
    g.flag("--mmap", mmap, "use weights where they are in the file (the default)");
}

void add_picture_options(CLI::App & app, Arguments & a) {
    Group g(app, "The picture");
    g.option("-p,--prompt", a.prompt, "what to show; (x:1.3) weighs words", "TEXT");
    g.option("--prompt-file", a.prompt_file, "the prompt from a file", "FILE");
    g.option("-n,--negative-prompt", a.negative_prompt, "what not to show; used when --cfg-scale is not 1",
             "TEXT");
    g.option("--negative-prompt-file", a.negative_prompt_file, "the same from a file", "FILE");
    g.option("-W,--width", a.width, "width in pixels (512, or the first input picture's)", "N");
    g.option("-H,--height", a.height, "height in pixels", "N");
    g.option("-s,--seed", a.seed, "number that decides the noise; below 0: drawn", "N");
    g.option("-b,--batch-count", a.batch_count, "pictures, with the seeds N, N + 1, ...", "N");
    g.option("-t,--threads", a.threads, "threads; below 1: one for each physical core", "N");
    g.option("-i,--init-img", a.init_image, "begin from this picture", "FILE");
    g.option("--mask", a.mask, "white: paint anew, black: keep the initial picture", "FILE");
    g.option("--strength", a.strength, "how much of the initial picture may change, 0 to 1", "X");
}

void add_sampling_options(CLI::App & app, Arguments & a) {
    Group g(app, "Sampling");
    g.option("--steps", a.steps, "steps (20)", "N");
    g.option("--cfg-scale", a.cfg_scale, "guidance by the prompt (7); 1: none, twice as fast", "X");
    g.option("--sampling-method", a.sampling_method, names(sd_sampler_name), "NAME");
    g.option("--scheduler", a.scheduler, names(sd_scheduler_name), "NAME");
    g.option("--sigmas", a.sigmas, "noise levels instead of a scheduler: \"1,0.7,0.3,0\"", "LIST");
    g.option("--flow-shift", a.flow_shift, "exponent that moves steps towards the noise (1.15)", "X");
    g.option("--eta", a.eta, "how much noise methods that add some add", "X");
    g.option("--rng", a.rng, "cuda, cpu, std_default: whose random numbers the noise is", "NAME");
    g.option("--sampler-rng", a.sampler_rng, "the same for noise during sampling (as --rng)", "NAME");
    g.list("--extra-sample-args", a.extra_sample_args, "\"key=value,...\" for methods and schedulers",
           "LIST");
}

void add_vae_options(CLI::App & app, Arguments & a) {
    Group g(app, "The VAE");
    g.flag("--vae-tiling", a.vae_tiling,
           "work in tiles: less memory, the same picture but for small differences");
    g.option("--vae-tile-size", a.vae_tile_size, "X or XxY, in pixels of the latent picture (32)", "SIZE");
    g.option("--vae-relative-tile-size", a.vae_relative_tile_size,
             "the same as a fraction, or as a number of tiles", "SIZE");
    g.option("--vae-tile-overlap", a.vae_tile_overlap, "of a tile, 0 to 0.5 (0.5)", "X");
}

void add_output_options(CLI::App & app, Arguments & a) {
    Group g(app, "Output");
    g.option("-o,--output", a.output,
             "where to write: .png, .jpg, .webp; %03d stands for the number (output.png); "
             "-M convert: .safetensors or .gguf (output.gguf)",
             "FILE");
    g.option("--output-begin-idx", a.output_begin_idx, "number of the first picture", "N");
    g.flag("--disable-image-metadata", a.disable_image_metadata,
           "do not write prompt and settings into the file");
    g.option("--preview", a.preview, "none or proj: a small picture after each step", "KIND")
        ->check(CLI::IsMember({"none", "proj"}));
    g.option("--preview-path", a.preview_path, "where the preview is written (preview.png)", "FILE");
    g.option("--dump-tensors", a.dump_tensors, "write the tensors on the way as safetensors", "FILE");
    g.option("--explain", a.explain, "write which kernels and fusions run each step, and why: .json or text",
             "FILE");
    g.option("--trace", a.trace, "record what runs when, for chrome://tracing", "FILE");
    g.flag("--check-nan", a.check_nan, "find the first layer whose values are not finite");
    g.flag("-v,--verbose", a.verbose, "tell more about what is done");
    g.flag("--color", a.color, "color the messages");
}

void add_inspect_options(CLI::App & app, Arguments & a) {
    Group g(app, "Inspecting (-M inspect)");
    g.flag("--json", a.json, "print JSON instead of text");
    g.flag("--layers", a.layers, "print a line for every layer, too");
}

} // namespace

bool parse(int argc, char ** argv, Arguments & a, int & exit_status) {
    CLI::App app("Makes pictures with quantized image models, looks into their files and converts them.");
    app.name("sd-cli");
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.set_version_flag("--version", std::string("sd-cli ") + sd_version());
    const std::map<std::string, Mode> modes = {
        {"img_gen", Mode::img_gen}, {"inspect", Mode::inspect}, {"convert", Mode::convert}};
    app.add_option("-M,--mode", a.mode,
                   "img_gen (the default): make pictures; inspect: tell what is in a model file; "
                   "convert: write a model as another file, with --type")
        ->type_name("MODE")
        ->transform(CLI::CheckedTransformer(modes));
    add_model_options(app, a);
    add_picture_options(app, a);
    add_sampling_options(app, a);
    add_vae_options(app, a);
    add_output_options(app, a);
    add_inspect_options(app, a);
    add_foreign_options(app);
    try {
        app.parse(argc, argv);
        if (a.mode == Mode::convert && app.count("--output") == 0) a.output = "output.gguf";
        return true;
    } catch (const CLI::Success & success) {
        exit_status = app.exit(success);
    } catch (const CLI::ParseError & error) {
        print_error(error.what() + std::string(" (sd-cli --help lists the options)"));
        exit_status = 1;
    }
    return false;
}

} // namespace cli
