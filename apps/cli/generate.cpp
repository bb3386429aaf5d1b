#include "apps/cli/atomic_file.h"
#include "apps/cli/checks.h"
#include "apps/cli/console.h"
#include "apps/cli/generation_data.h"
#include "apps/cli/image/image_file.h"
#include "apps/cli/inputs.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/model_advice.h"
#include "apps/cli/modes.h"
#include "apps/cli/output_name.h"
#include "apps/cli/without_effect.h"
#include "stable-diffusion.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

namespace cli {
namespace {

// What callbacks work with. None of them throws: an exception must not pass through the engine's C functions.
struct Job {
    const Arguments & a;
    const Generation & generation;
    int saved = 0, failed = 0;
    bool preview_failed = false;
    Progress progress;
};

void save(int index, int64_t seed, const sd_image_t * image, void * data) {
    Job & job = *static_cast<Job *>(data);
    const Arguments & a = job.a;
    const std::string path = output_name(a.output, index, a.batch_count, a.output_begin_idx);
    const std::string text = a.disable_image_metadata ? "" : generation_text(a, job.generation, seed);
    std::string error;
    if (write_image(path, *image, text, error)) {
        ++job.saved;
        print_note("saved " + path + " (seed " + std::to_string(seed) + ")");
    } else {
        ++job.failed;
        print_error(error);
    }
}

bool progress(const char * what, uint64_t done, uint64_t total, void * data) {
    const bool bytes = std::string_view(what).starts_with("loading");
    static_cast<Job *>(data)->progress.show(what, done, total, bytes ? Unit::bytes : Unit::steps);
    // A signal before the engine began would otherwise be forgotten.
    return Interrupt::signal() == 0;
}

void preview(int step, int steps, const sd_image_t * image, void * data) {
    Job & job = *static_cast<Job *>(data);
    if (job.preview_failed || (step % job.a.preview_interval != 0 && step != steps)) return;
    std::string error;
    if (write_image(with_image_ending(job.a.preview_path), *image, "", error)) return;
    job.preview_failed = true; // said once
    print_warning(error + "; there are no previews");
}

sd_image_t view_of(Image & image) {
    return {image.width, image.height, image.channels, image.pixels.empty() ? nullptr : image.pixels.data()};
}

void set_tiling(const Arguments & a, sd_tiling_params_t & tiling) {
    tiling.enabled = a.vae_tiling;
    tiling.target_overlap = a.vae_tile_overlap;
    Pair pair = {};
    if (parse_pair(a.vae_tile_size, pair)) {
        tiling.tile_size_x = int(pair.x);
        tiling.tile_size_y = int(pair.y);
    }
    if (parse_pair(a.vae_relative_tile_size, pair)) {
        tiling.rel_size_x = float(pair.x);
        tiling.rel_size_y = float(pair.y);
    }
}

sd_img_gen_params_t params_of(const Arguments & a, Inputs & in) {
    sd_img_gen_params_t p;
    sd_img_gen_params_init(&p);
    p.prompt = in.prompt.c_str();
    p.negative_prompt = in.negative_prompt.c_str();
    p.width = in.width;
    p.height = in.height;
    p.seed = a.seed;
    p.batch_count = a.batch_count;
    p.init_image = view_of(in.init);
    p.mask_image = view_of(in.mask);
    p.strength = a.strength;
    p.sample_params.sample_method = a.sampling_method.c_str();
    p.sample_params.scheduler = a.scheduler.c_str();
    p.sample_params.sample_steps = a.steps;
    p.sample_params.txt_cfg = a.cfg_scale;
    p.sample_params.eta = a.eta;
    p.sample_params.flow_shift = a.flow_shift;
    p.sample_params.custom_sigmas = a.sigmas.c_str();
    p.sample_params.extra_sample_args = a.extra_sample_args.c_str();
    p.check_nan = a.check_nan;
    p.dump_tensors = a.dump_tensors.c_str();
    p.explain = a.explain.c_str();
    set_tiling(a, p.vae_tiling_params);
    return p;
}

sd_ctx_params_t context_params_of(const Arguments & a) {
    sd_ctx_params_t c;
    sd_ctx_params_init(&c);
    c.files = {a.model.c_str(), a.diffusion_model.c_str(), a.llm.c_str(), a.vae.c_str()};
    c.tokenizer = a.tokenizer.c_str();
    c.n_threads = a.threads;
    c.assume_int8_group = a.assume_int8_group;
    c.wtype = a.type.c_str();
    c.tensor_type_rules = a.tensor_type_rules.c_str();
    c.enable_mmap = !a.no_mmap;
    c.keep_loaded = a.keep_loaded;
    c.rng_type = str_to_rng_type(a.rng.c_str());
    c.sampler_rng_type = str_to_rng_type(a.sampler_rng.c_str());
    return c;
}

// Files that are one file, also by way of links.
bool same_file(const std::string & a, const std::string & b) {
    namespace fs = std::filesystem;
    const auto place = [](const std::string & p) { return fs::path(std::u8string(p.begin(), p.end())); };
    std::error_code problem;
    if (fs::equivalent(place(a), place(b), problem) && !problem)
        return fs::is_regular_file(place(a), problem);
    return fs::absolute(place(a), problem).lexically_normal() ==
           fs::absolute(place(b), problem).lexically_normal();
}

// Nothing is written over what is read, and nothing over another result.
bool check_distinct(const Arguments & a, std::string & error) {
    std::vector<std::string> taken = {a.model, a.diffusion_model, a.llm,
                                      a.vae,   a.tokenizer,       a.init_image,
                                      a.mask,  a.prompt_file,     a.negative_prompt_file};
    std::vector<std::string> outputs = {a.dump_tensors, a.explain, a.trace,
                                        a.preview == "none" ? "" : a.preview_path};
    // The names of a batch differ in their number; its first one stands for all.
    outputs.insert(outputs.begin(), output_name(a.output, 0, a.batch_count, a.output_begin_idx));
    for (const std::string & output : outputs) {
        for (const std::string & other : taken) {
            if (output.empty() || other.empty() || !same_file(output, other)) continue;
            error = output + ": would be written over, but it is also used for something else";
            return false;
        }
        taken.push_back(output);
    }
    return true;
}

// Before hours of work, whether its results can be kept.
bool check_outputs(const Arguments & a, const Inputs & in, std::string & error) {
    std::error_code problem;
    const std::filesystem::path output(std::u8string(a.output.begin(), a.output.end()));
    if (a.output.ends_with('/') || std::filesystem::is_directory(output, problem)) {
        error = a.output + ": is a folder (name a file in it)";
        return false;
    }
    if (!check_distinct(a, error)) return false;
    std::set<std::string> folders;
    for (int i = 0; i < a.batch_count; ++i) {
        const std::string path = output_name(a.output, i, a.batch_count, a.output_begin_idx);
        // One of each folder; in a batch of thousands that is enough.
        if (!folders.insert(path.substr(0, path.rfind('/') + 1)).second) continue;
        if (!can_write_image(path, uint32_t(in.width), uint32_t(in.height), error)) return false;
    }
    for (const std::string & path : {a.dump_tensors, a.explain, a.trace}) {
        if (!path.empty() && !can_write_file(path, error)) return false;
    }
    return true;
}

int fail(const std::string & error) {
    print_error(error);
    return 1;
}

// The exit status of a generation that was tried.
int status_of(const Job & job, bool made) {
    if (made) return job.failed == 0 ? 0 : 1;
    const std::string error = sd_last_error();
    const int signal = Interrupt::signal();
    if (signal == 0) return fail(error);
    print_error("interrupted; " + std::to_string(job.saved) + " of " + std::to_string(job.a.batch_count) +
                " pictures are saved");
    constexpr int kBySignal = 128; // as shells report it
    return kBySignal + signal;
}

int generate(const Arguments & a, sd_ctx_t * ctx, Inputs & in) {
    const Generation generation = {in.prompt,
                                   in.negative_prompt,
                                   in.width,
                                   in.height,
                                   sd_resolve_sampler(a.sampling_method.c_str()),
                                   sd_resolve_scheduler(a.sampling_method.c_str(), a.scheduler.c_str())};
    Job job = {a, generation, 0, 0, false, {}};
    const sd_img_gen_params_t p = params_of(a, in);
    const sd_gen_callbacks_t callbacks = {progress, save, a.preview == "none" ? nullptr : preview, &job};
    const Interrupt interrupt(ctx);
    const bool made = generate_image(ctx, &p, &callbacks, nullptr, nullptr);
    job.progress.end();
    return status_of(job, made);
}

} // namespace

int run_generate(const Arguments & given) {
    Arguments a = given;
    Inputs in;
    std::string error;
    if (!load_inputs(a, in, error)) return fail(error);
    const sd_ctx_params_t c = context_params_of(a);
    const std::unique_ptr<sd_ctx_t, decltype(&free_sd_ctx)> ctx(new_sd_ctx(&c), free_sd_ctx);
    if (ctx == nullptr) return fail(sd_last_error());
    sd_model_advice_t advice;
    sd_get_model_advice(ctx.get(), &advice);
    const std::string taken = take_advice(advice, a, in);
    if (!taken.empty()) print_note(taken);
    if (!check_outputs(a, in, error)) return fail(error);
    for (const std::string & line : without_effect(a)) print_warning(line);
    if (!a.trace.empty() && !sd_trace_begin(a.trace.c_str())) return fail(sd_last_error());
    const int status = generate(a, ctx.get(), in);
    if (!a.trace.empty() && !sd_trace_end()) return fail(sd_last_error());
    return status;
}

} // namespace cli
