#include "apps/cli/bundled_model.h"
#include "apps/cli/console.h"
#include "apps/cli/generation_data.h"
#include "apps/cli/image/contact_sheet.h"
#include "apps/cli/image/image_file.h"
#include "apps/cli/inputs.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/model_advice.h"
#include "apps/cli/modes.h"
#include "apps/cli/output_name.h"
#include "apps/cli/outputs.h"
#include "apps/cli/requests.h"
#include "apps/cli/without_effect.h"
#include "stable-diffusion.h"

#include <memory>
#include <string_view>

namespace cli {
namespace {

// What callbacks work with. None of them throws: an exception must not pass through the engine's C functions.
struct Job {
    const Arguments & a;
    const Inputs & in;
    int pictures;               // in all
    ContactSheet * grid;        // NULL: none is asked for
    size_t prompt = 0;          // which one's pictures are made
    Generation generation = {}; // of them
    int saved = 0, failed = 0;
    bool preview_failed = false;
    Progress progress = {};
};

void save(int index, int64_t seed, const sd_image_t * image, void * data) {
    Job & job = *static_cast<Job *>(data);
    const Arguments & a = job.a;
    const int number = int(job.prompt) * a.batch_count + index;
    const std::string path = output_name(a.output, number, job.pictures, a.output_begin_idx);
    const std::string text = a.disable_image_metadata ? "" : generation_text(a, job.generation, seed);
    if (job.grid != nullptr) job.grid->put(size_t(number), *image);
    std::string error;
    if (write_image(path, *image, text, error)) {
        ++job.saved;
        print_note("saved " + path + " (seed " + std::to_string(seed) + ")" +
                   (job.in.prompts.size() > 1 ? ": " + job.in.prompts[job.prompt].given : ""));
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

int fail(const std::string & error) {
    print_error(error);
    return 1;
}

// The exit status of a generation that was tried.
int status_of(const Job & job, bool made) {
    if (made && job.failed == 0) return 0;
    if (made) return Interrupt::signal() != 0 ? Interrupt::exit_status() : 1;
    const std::string error = sd_last_error();
    if (Interrupt::signal() == 0) return fail(error);
    print_error("interrupted; " + std::to_string(job.saved) + " of " + std::to_string(job.pictures) +
                " pictures are saved");
    return Interrupt::exit_status();
}

Generation generation_of(const Arguments & a, const Inputs & in, const Prompt & prompt) {
    return {prompt.text,
            in.negative_prompt,
            in.width,
            in.height,
            sd_resolve_sampler(a.sampling_method.c_str()),
            sd_resolve_scheduler(a.sampling_method.c_str(), a.scheduler.c_str()),
            prompt.given,
            prompt.loras};
}

int generate(const Arguments & a, sd_ctx_t * ctx, Inputs & in, ContactSheet * grid) {
    Job job = {a, in, picture_count(a, in), grid};
    const sd_gen_callbacks_t callbacks = {progress, save, a.preview == "none" ? nullptr : preview, &job};
    const Interrupt interrupt(ctx);
    for (const Prompt & prompt : in.prompts) {
        job.generation = generation_of(a, in, prompt);
        const sd_img_gen_params_t p = params_of(a, in, prompt);
        const bool made = generate_image(ctx, &p, &callbacks, nullptr, nullptr);
        job.progress.end();
        if (!made) return status_of(job, false);
        ++job.prompt;
        show_briefly(); // the rest
    }
    return status_of(job, true);
}

int generate_with_grid(const Arguments & a, sd_ctx_t * ctx, Inputs & in) {
    if (a.grid.empty()) return generate(a, ctx, in, nullptr);
    const SheetPlan plan = sheet_plan(a, in);
    ContactSheet grid(uint32_t(in.width), uint32_t(in.height), plan);
    const int status = generate(a, ctx, in, &grid);
    if (status != 0) return status;
    Image image = grid.image();
    const std::string path = with_image_ending(a.grid);
    std::string error;
    if (!write_image(path, {image.width, image.height, image.channels, image.pixels.data()}, "", error))
        return fail(error);
    print_note("saved " + path + ": all " + std::to_string(plan.count) + ", " + std::to_string(plan.columns) +
               " in a row");
    return 0;
}

} // namespace

int run_generate(const Arguments & given) {
    Arguments a = given;
    Inputs in;
    std::string error;
    const std::string bundled = use_bundled_model(a);
    if (!bundled.empty()) print_note(bundled);
    if (!load_inputs(a, in, error)) return fail(error);
    if (in.prompts.size() > 1) draw_seed(a);
    const sd_ctx_params_t c = context_params_of(a);
    const std::unique_ptr<sd_ctx_t, decltype(&free_sd_ctx)> ctx(new_sd_ctx(&c), free_sd_ctx);
    if (ctx == nullptr) return fail(sd_last_error());
    sd_model_advice_t advice;
    sd_get_model_advice(ctx.get(), &advice);
    const std::string taken = take_advice(advice, a, in);
    if (!taken.empty()) print_note(taken);
    const auto is_model_file = [&](const std::string & path) {
        return sd_ctx_reads_file(ctx.get(), path.c_str());
    };
    if (!check_outputs(a, in, is_model_file, error)) return fail(error);
    for (const std::string & line : without_effect(a)) print_warning(line);
    if (!a.trace.empty() && !sd_trace_begin(a.trace.c_str())) return fail(sd_last_error());
    const int status = generate_with_grid(a, ctx.get(), in);
    if (!a.trace.empty() && !sd_trace_end()) return fail(sd_last_error());
    return status;
}

} // namespace cli
