#include "apps/cli/atomic_file.h"
#include "apps/cli/console.h"
#include "apps/cli/file_key.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/modes.h"
#include "apps/cli/prompt_list.h"
#include "apps/cli/requests.h"
#include "apps/cli/text.h"
#include "stable-diffusion.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cli {
namespace {

bool progress(const char * what, uint64_t done, uint64_t total, void * data) {
    static_cast<Progress *>(data)->show(what, done, total,
                                        std::string_view(what) == "calibrating" ? Unit::steps : Unit::bytes);
    return Interrupt::signal() == 0;
}

using Text = std::unique_ptr<char, decltype(&sd_free_text)>;

// What the parameters point into.
struct Lists {
    std::vector<const char *> more;
    std::vector<sd_lora_t> loras;
    std::vector<std::string> prompts;
    std::vector<const char *> prompt_texts;
};

bool make_lists(const QuantizeArguments & q, Lists & lists, std::string & error) {
    if (!q.calibrate.empty() && !read_prompts(q.calibrate, lists.prompts, error)) return false;
    for (const std::string & prompt : lists.prompts) lists.prompt_texts.push_back(prompt.c_str());
    for (const std::string & path : q.more_models) lists.more.push_back(path.c_str());
    for (const LoraFile & lora : q.loras) lists.loras.push_back({false, lora.strength, lora.path.c_str()});
    return true;
}

void set_calibration(const Arguments & a, const Lists & lists, sd_quantize_params_t & p) {
    if (lists.prompts.empty()) return;
    p.calibration_prompts = lists.prompt_texts.data();
    p.calibration_prompts_count = lists.prompt_texts.size();
    // One part is quantized, and the others are what it works with.
    if (!a.model.empty()) {
        p.calibration_files = p.files;
        p.files = {a.model.c_str(), nullptr, nullptr, nullptr};
    }
    p.calibration_tokenizer = a.tokenizer.c_str();
    if (a.given.contains("--steps")) p.calibration_steps = a.steps;
    p.calibration_width = a.width;
    p.calibration_height = a.height;
    if (a.given.contains("--cfg-scale")) p.calibration_cfg = a.cfg_scale;
    p.calibration_seed = a.seed;
    p.calibration_memory = a.quantize.calibrate_memory;
}

sd_quantize_params_t params_of(const Arguments & a, const Lists & lists) {
    const QuantizeArguments & q = a.quantize;
    sd_quantize_params_t p;
    sd_quantize_params_init(&p);
    p.files = {a.model.c_str(), a.diffusion_model.c_str(), a.llm.c_str(), a.vae.c_str()};
    p.more_files = lists.more.data();
    p.more_files_count = lists.more.size();
    p.loras = lists.loras.data();
    p.lora_count = uint32_t(lists.loras.size());
    p.output = a.output.c_str();
    p.format = q.format.c_str();
    p.group = q.group;
    p.preset = q.preset.c_str();
    p.include = q.include.c_str();
    p.exclude = q.exclude.c_str();
    p.rules_file = q.rules.c_str();
    p.header_settings = q.header_settings;
    p.replace = q.force;
    p.allow_nonfinite = q.allow_nonfinite;
    p.verify = q.verify;
    p.target_size = q.target_size;
    p.max_error = q.max_error;
    p.scale_search = q.scale_search;
    p.fail_above = q.fail_above;
    p.n_threads = a.threads;
    p.assume_int8_group = a.assume_int8_group;
    set_calibration(a, lists, p);
    return p;
}

// "" or why the report cannot be written: before an hour of work, not after it.
std::string problem_of_report(const Arguments & a) {
    const std::string & report = a.quantize.report;
    if (!a.quantize.calibrate.empty() && same_file(a.output, a.quantize.calibrate))
        return a.output + ": is the list of prompts that is read";
    if (report.empty()) return {};
    std::vector<std::string> others = {a.model,          a.diffusion_model,    a.llm,    a.vae,
                                       a.quantize.rules, a.quantize.calibrate, a.output, a.tokenizer};
    others.insert(others.end(), a.quantize.more_models.begin(), a.quantize.more_models.end());
    for (const LoraFile & lora : a.quantize.loras) others.push_back(lora.path);
    const std::string problem_of_name =
        "--report " + printable(report) + ": is a file that is read or written";
    for (const std::string & other : others) {
        if (!other.empty() && same_file(report, other)) return problem_of_name;
    }
    const sd_model_files_t files = {a.model.c_str(), a.diffusion_model.c_str(), a.llm.c_str(), a.vae.c_str()};
    if (sd_model_reads_file(&files, report.c_str())) return problem_of_name;
    for (const std::string & model : a.quantize.more_models) {
        const sd_model_files_t more = {model.c_str(), nullptr, nullptr, nullptr};
        if (sd_model_reads_file(&more, report.c_str())) return problem_of_name;
    }
    std::string problem;
    can_write_file(report, problem);
    return problem;
}

} // namespace

int run_quantize(const Arguments & a) {
    if (a.quantize.format.empty()) {
        print_error("no format is given (--format int8, int8-convrot, w4a4, w4a8 or auto)");
        return 1;
    }
    std::string problem = problem_of_report(a);
    if (!problem.empty()) {
        print_error(problem);
        return 1;
    }
    Lists lists;
    if (!make_lists(a.quantize, lists, problem)) {
        print_error(problem);
        return 1;
    }
    const sd_quantize_params_t p = params_of(a, lists);
    Progress bar;
    char *text = nullptr, *json = nullptr;
    bool good = false;
    {
        const Interrupt interrupt(nullptr);
        good = sd_quantize(&p, progress, &bar, &text, &json);
    }
    bar.end();
    const Text text_owner(text, sd_free_text), json_owner(json, sd_free_text);
    // The next call of the engine would forget them.
    const std::string error = sd_last_error();
    const bool cancelled = std::string_view(sd_last_error_code()) == "E_CANCELLED";
    bool told = text == nullptr || print_result(text);
    if (json != nullptr && !a.quantize.report.empty() &&
        !write_file(a.quantize.report, json, std::string_view(json).size(), problem)) {
        print_error(problem);
        told = false;
    }
    if (good) return told ? 0 : 1;
    print_error(error);
    return cancelled ? Interrupt::exit_status() : 1;
}

} // namespace cli
