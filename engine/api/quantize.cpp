#include "quantize/quantize.h"

#include "api/boundary.h"
#include "api/files.h"
#include "base/read_files.h"

namespace sd {
namespace {

CalibrationRequest calibration_of(const sd_quantize_params_t & p) {
    CalibrationRequest c;
    for (size_t i = 0; i < p.calibration_prompts_count; ++i)
        c.prompts.push_back(text_of(p.calibration_prompts[i]));
    if (c.prompts.empty()) return c;
    if (p.more_files_count > 0)
        throw Error({"E_ARGUMENT",
                     {},
                     {},
                     "a model in several files cannot be calibrated",
                     "quantize its parts one at a time"});
    c.files = paths_of(p.calibration_files);
    const ModelPaths & f = c.files;
    if (f.model.empty() && f.diffusion_model.empty() && f.llm.empty() && f.vae.empty())
        c.files = paths_of(p.files);
    c.tokenizer = text_of(p.calibration_tokenizer);
    c.steps = p.calibration_steps;
    c.width = p.calibration_width;
    c.height = p.calibration_height;
    if (p.calibration_cfg != 0.0f) c.cfg_scale = p.calibration_cfg;
    c.seed = p.calibration_seed;
    if (p.calibration_memory > 0) c.memory = p.calibration_memory;
    return c;
}

QuantizeRequest request_of(const sd_quantize_params_t & p) {
    QuantizeRequest request;
    request.output = text_of(p.output);
    if (request.output.empty())
        throw Error({"E_ARGUMENT", {}, {}, "no output is given", "-o FILE.safetensors"});
    request.selection = {text_of(p.format),  p.group,
                         text_of(p.preset),  text_of(p.include),
                         text_of(p.exclude), text_of(p.rules_file)};
    request.quants.assume_int8_group = p.assume_int8_group;
    request.header_settings = p.header_settings;
    request.replace = p.replace;
    request.allow_nonfinite = p.allow_nonfinite;
    request.verify = p.verify;
    request.budget = {p.target_size, p.max_error};
    request.scale_search = p.scale_search;
    request.calibration = calibration_of(p);
    request.adapters = adapter_uses(p.loras, p.lora_count);
    request.fail_above = p.fail_above;
    request.threads = p.n_threads;
    return request;
}

Checkpoint open_files(const sd_quantize_params_t & p) {
    ReadFiles files;
    const ReadFiles::Recording recording(files);
    Checkpoint checkpoint = open_model(paths_of(p.files));
    for (size_t i = 0; i < p.more_files_count; ++i)
        checkpoint.add(text_of(p.more_files[i]), Component::model);
    const sd_model_files_t & c = p.calibration_files;
    for (const char * read :
         {p.rules_file, c.model, c.diffusion_model, c.llm, c.vae, p.calibration_tokenizer}) {
        if (read != nullptr && *read != '\0') files.add(read);
    }
    files.refuse(text_of(p.output));
    return checkpoint;
}

} // namespace
} // namespace sd

extern "C" void sd_quantize_params_init(sd_quantize_params_t * params) { *params = {}; }

extern "C" bool sd_quantize(const sd_quantize_params_t * params, sd_work_cb_t progress, void * data,
                            char ** text_report, char ** json_report) {
    return sd::at_boundary(false, [&] {
        if (params == nullptr) throw sd::Error("sd_quantize: no parameters");
        if (text_report != nullptr) *text_report = nullptr;
        if (json_report != nullptr) *json_report = nullptr;
        sd::QuantizeRequest request = sd::request_of(*params);
        if (progress != nullptr)
            request.progress = [&](const char * what, uint64_t done, uint64_t total) {
                return progress(what, done, total, data);
            };
        const sd::QuantizeReport report = sd::quantize(sd::open_files(*params), request);
        if (text_report != nullptr) *text_report = sd::new_text(sd::report_text(report));
        if (json_report != nullptr) *json_report = sd::new_text(sd::report_json(report));
        if (report.problem) sd::set_last_error(*report.problem);
        return !report.problem;
    });
}
