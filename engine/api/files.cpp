#include "api/files.h"

#include "api/boundary.h"
#include "inspect/report.h"

namespace sd {

Checkpoint open_checkpoint(const sd_model_files_t & files) {
    const std::pair<const char *, Component> given[] = {
        {files.model, Component::model},
        {files.diffusion_model, Component::diffusion},
        {files.llm, Component::llm},
        {files.vae, Component::vae},
    };
    Checkpoint checkpoint;
    for (const auto & [path, component] : given) {
        if (!text_of(path).empty()) checkpoint.add(path, component);
    }
    if (checkpoint.files().empty()) throw Error("no model file is given");
    return checkpoint;
}

QuantOptions quant_options(const sd_load_params_t & params) {
    QuantOptions options;
    options.assume_int8_group = params.assume_int8_group;
    return options;
}

} // namespace sd

extern "C" void sd_load_params_init(sd_load_params_t * params) { *params = {}; }

extern "C" bool sd_inspect(const sd_load_params_t * params, sd_inspect_format_t format, char ** report) {
    return sd::at_boundary(false, [&] {
        if (params == nullptr || report == nullptr) throw sd::Error("sd_inspect: no parameters");
        *report = nullptr;
        const sd::Checkpoint checkpoint = sd::open_checkpoint(params->files);
        const sd::InspectReport found = sd::inspect(checkpoint, sd::quant_options(*params));
        *report =
            sd::new_text(format == SD_INSPECT_JSON ? sd::inspect_json(found)
                                                   : sd::inspect_text(found, format == SD_INSPECT_LAYERS));
        if (found.problem) sd::set_last_error(*found.problem);
        return !found.problem;
    });
}
