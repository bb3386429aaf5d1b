#include "apps/cli/console.h"
#include "apps/cli/image_file.h"
#include "apps/cli/modes.h"
#include "apps/cli/output_name.h"
#include "stable-diffusion.h"

#include <csignal>
#include <memory>

namespace cli {
namespace {

// What callbacks work with.
struct Job {
    const Arguments & a;
    int saved = 0, failed = 0;
    Progress progress;
};

void save(int index, int64_t seed, const sd_image_t * image, void * data) {
    Job & job = *static_cast<Job *>(data);
    const std::string path = output_name(job.a.output, index, job.a.batch_count, job.a.output_begin_idx);
    std::string error;
    if (write_image(path, *image, "", error)) {
        ++job.saved;
        job.progress.line("saved " + path + " (seed " + std::to_string(seed) + ")");
    } else {
        ++job.failed;
        print_error(error);
    }
}

bool progress(const char * what, uint64_t done, uint64_t total, void * data) {
    static_cast<Job *>(data)->progress.show(what, done, total);
    return true;
}

sd_ctx_t * interrupted = nullptr;

void on_interrupt(int) { sd_cancel_generation(interrupted); }

sd_img_gen_params_t params_of(const Arguments & a) {
    sd_img_gen_params_t p;
    sd_img_gen_params_init(&p);
    p.prompt = a.prompt.c_str();
    p.negative_prompt = a.negative_prompt.c_str();
    p.width = a.width != 0 ? a.width : 512;
    p.height = a.height != 0 ? a.height : 512;
    p.seed = a.seed;
    p.batch_count = a.batch_count;
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
    p.vae_tiling_params.enabled = a.vae_tiling;
    p.vae_tiling_params.target_overlap = a.vae_tile_overlap;
    return p;
}

} // namespace

int run_generate(const Arguments & a) {
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
    const std::unique_ptr<sd_ctx_t, decltype(&free_sd_ctx)> ctx(new_sd_ctx(&c), free_sd_ctx);
    if (ctx == nullptr) {
        print_error(sd_last_error());
        return 1;
    }
    if (!a.trace.empty() && !sd_trace_begin(a.trace.c_str())) {
        print_error(sd_last_error());
        return 1;
    }
    interrupted = ctx.get();
    std::signal(SIGINT, on_interrupt);
    const sd_img_gen_params_t p = params_of(a);
    Job job = {a, 0, 0, {}};
    const sd_gen_callbacks_t callbacks = {progress, save, nullptr, &job};
    const bool made = generate_image(ctx.get(), &p, &callbacks, nullptr, nullptr);
    std::signal(SIGINT, SIG_DFL);
    job.progress.end();
    int status = job.failed == 0 ? 0 : 1;
    if (!made) {
        print_error(sd_last_error());
        status = std::string_view(sd_last_error_code()) == "E_CANCELLED" ? 130 : 1;
    }
    if (!a.trace.empty() && !sd_trace_end()) {
        print_error(sd_last_error());
        status = 1;
    }
    return status;
}

} // namespace cli
