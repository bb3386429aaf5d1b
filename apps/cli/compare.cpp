#include "apps/cli/atomic_file.h"
#include "apps/cli/bundled_model.h"
#include "apps/cli/checks.h"
#include "apps/cli/console.h"
#include "apps/cli/file_key.h"
#include "apps/cli/image/image_difference.h"
#include "apps/cli/image/image_file.h"
#include "apps/cli/inputs.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/model_advice.h"
#include "apps/cli/modes.h"
#include "apps/cli/outputs.h"
#include "apps/cli/requests.h"
#include "stable-diffusion.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace cli {
namespace {

using Json = nlohmann::ordered_json;
using Context = std::unique_ptr<sd_ctx_t, decltype(&free_sd_ctx)>;

struct Picture {
    std::string prompt;
    int64_t seed = 0;
    Image image = {};
};

struct Job {
    std::vector<Picture> & pictures;
    std::string prompt;
    Progress bar = {};
};

bool progress(const char * what, uint64_t done, uint64_t total, void * data) {
    const bool bytes = std::string_view(what).starts_with("loading");
    static_cast<Job *>(data)->bar.show(what, done, total, bytes ? Unit::bytes : Unit::steps);
    return Interrupt::signal() == 0;
}

void take(int, int64_t seed, const sd_image_t * image, void * data) {
    Job & job = *static_cast<Job *>(data);
    const size_t bytes = size_t(image->width) * image->height * image->channel;
    job.pictures.push_back(
        {job.prompt,
         seed,
         {image->width, image->height, image->channel, {image->data, image->data + bytes}, ""}});
}

// The second model: what is not given is the first's, but files that hold everything go alone.
Arguments second_of(const Arguments & a) {
    Arguments second = a;
    const CompareArguments & c = a.compare;
    if (!c.model.empty()) {
        second.model = c.model;
        if (a.model.empty()) second.diffusion_model = second.llm = second.vae = "";
    }
    if (!c.diffusion_model.empty()) second.diffusion_model = c.diffusion_model;
    if (!c.llm.empty()) second.llm = c.llm;
    if (!c.vae.empty()) second.vae = c.vae;
    return second;
}

std::string name_of(const Arguments & a) { return a.diffusion_model.empty() ? a.model : a.diffusion_model; }

// "" or why nothing can be compared.
std::string problem_of(const Arguments & a, Inputs & in) {
    const CompareArguments & c = a.compare;
    if (c.model.empty() && c.diffusion_model.empty() && c.llm.empty() && c.vae.empty())
        return "no second model is given (--compare-model FILE or --compare-diffusion-model FILE)";
    std::string error;
    return load_inputs(a, in, error) ? "" : error;
}

// The same before hours of work: whether the results can be written.
std::string problem_of_outputs(const Arguments & a, const Inputs & in, size_t rows) {
    const CompareArguments & c = a.compare;
    const std::string &report = a.quantize.report, sheet = with_image_ending(a.output);
    std::vector<std::string> inputs = files_read(a, in);
    inputs.insert(inputs.end(), {c.model, c.diffusion_model, c.llm, c.vae});
    for (const std::string & read : inputs) {
        for (const std::string & written : {sheet, report}) {
            if (!read.empty() && !written.empty() && same_file(written, read))
                return written + ": would be written over, but it is also used for something else";
        }
    }
    if (!report.empty() && same_file(sheet, report)) return report + ": is the name of the sheet";
    const auto width = uint32_t(in.width), height = uint32_t(in.height);
    const uint64_t tall = ComparisonSheet::height_of(height, rows);
    if (tall * ComparisonSheet::width_of(width) * 3 > kMostSheetBytes)
        return std::to_string(rows) + " pictures of this size are more than a sheet can hold";
    std::string error;
    if (!can_write_image(sheet, ComparisonSheet::width_of(width), uint32_t(tall), error)) return error;
    if (!report.empty() && !can_write_file(report, error)) return error;
    return {};
}

int failed(const std::string & error) {
    print_error(error);
    return 1;
}

// All pictures of one model; the exit status.
int render(const Arguments & a, sd_ctx_t * ctx, Inputs & in, std::vector<Picture> & pictures) {
    const Interrupt interrupt(ctx);
    for (const Prompt & prompt : in.prompts) {
        const sd_img_gen_params_t p = params_of(a, in, prompt);
        Job job = {pictures, prompt.given};
        const sd_gen_callbacks_t callbacks = {progress, take, nullptr, &job};
        const bool made = generate_image(ctx, &p, &callbacks, nullptr, nullptr);
        job.bar.end();
        if (made) continue;
        if (Interrupt::signal() == 0) return failed(sd_last_error());
        constexpr int kBySignal = 128; // as shells report it
        print_error("interrupted; nothing is written");
        return kBySignal + Interrupt::signal();
    }
    return 0;
}

// JSON has no infinity.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json("inf"); }

std::string decibels(double psnr) {
    char text[32];
    std::snprintf(text, sizeof text, std::isfinite(psnr) ? "%9.2f" : "     same", psnr);
    return text;
}

std::string line_of(double error, double similarity) {
    char text[32];
    std::snprintf(text, sizeof text, "  %8.5f  ", similarity);
    return decibels(psnr_of(error)) + text;
}

// The results on the screen and, where asked for, as a sheet and as JSON.
int report(const Arguments & a, const Arguments & b, const std::vector<Picture> & first,
           const std::vector<Picture> & second) {
    ComparisonSheet sheet(first[0].image.width, first[0].image.height, first.size());
    double errors = 0, similarities = 0;
    Json rows = Json::array();
    std::string text = "  PSNR/dB      SSIM  picture\n";
    for (size_t i = 0; i < first.size(); ++i) {
        const Picture & p = first[i];
        const double error = mean_squared_error(p.image, second[i].image);
        const double similarity = ssim(p.image, second[i].image);
        sheet.add(i, p.image, second[i].image);
        errors += error;
        similarities += similarity;
        rows.push_back(
            {{"prompt", p.prompt}, {"seed", p.seed}, {"psnr", number(psnr_of(error))}, {"ssim", similarity}});
        text += line_of(error, similarity) + quoted(p.prompt) + ", seed " + std::to_string(p.seed) + "\n";
    }
    const auto count = double(first.size());
    text += line_of(errors / count, similarities / count) + "all together\n";
    const Json json = {{"schema", "sd.compare.v1"},
                       {"models", {name_of(a), name_of(b)}},
                       {"sheet", with_image_ending(a.output)},
                       {"pictures", rows},
                       {"psnr", number(psnr_of(errors / count))},
                       {"ssim", similarities / count}};
    Image image = sheet.image();
    const sd_image_t view = {image.width, image.height, image.channels, image.pixels.data()};
    std::string problem;
    bool good = print_result(text);
    if (!write_image(with_image_ending(a.output), view, "", problem)) return failed(problem);
    print_note("saved " + with_image_ending(a.output) + ": " + name_of(a) + ", " + name_of(b) +
               ", and four times their difference");
    const std::string out = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    if (!a.quantize.report.empty() && !write_file(a.quantize.report, out.data(), out.size(), problem))
        return failed(problem);
    return good ? 0 : 1;
}

} // namespace

int run_compare(const Arguments & given) {
    Arguments a = given;
    a.dump_tensors.clear(); // said to have no effect
    a.explain.clear();
    const std::string bundled = use_bundled_model(a);
    if (!bundled.empty()) print_note(bundled);
    Inputs in;
    draw_seed(a);
    const std::string problem = problem_of(a, in);
    if (!problem.empty()) return failed(problem);
    std::vector<Picture> pictures[2];
    for (int i = 0; i < 2; ++i) {
        // One model at a time in memory; both get the settings that the first one's file advises.
        const Arguments model = i == 0 ? a : second_of(a);
        const sd_ctx_params_t c = context_params_of(model);
        const Context ctx(new_sd_ctx(&c), free_sd_ctx);
        if (ctx == nullptr) return failed(sd_last_error());
        if (i == 0) {
            // The second one's files are opened before the first one's work begins.
            const Arguments other = second_of(a);
            const sd_ctx_params_t o = context_params_of(other);
            const Context second(new_sd_ctx(&o), free_sd_ctx);
            if (second == nullptr) return failed(sd_last_error());
            for (const std::string & path : {with_image_ending(a.output), a.quantize.report}) {
                if (sd_ctx_reads_file(ctx.get(), path.c_str()) ||
                    sd_ctx_reads_file(second.get(), path.c_str()))
                    return failed(path + ": would be written over, but it is also used for something else");
            }
            sd_model_advice_t advice;
            sd_get_model_advice(ctx.get(), &advice);
            const std::string taken = take_advice(advice, a, in);
            if (!taken.empty()) print_note(taken);
            const std::string cannot = problem_of_outputs(a, in, in.prompts.size() * size_t(a.batch_count));
            if (!cannot.empty()) return failed(cannot);
        }
        print_note("pictures of " + name_of(model));
        const int status = render(a, ctx.get(), in, pictures[i]);
        if (status != 0) return status;
    }
    return report(a, second_of(a), pictures[0], pictures[1]);
}

} // namespace cli
