#include "api/files.h"

#include "api/boundary.h"
#include "base/read_files.h"
#include "inspect/report.h"

namespace sd {

ModelPaths paths_of(const sd_model_files_t & files) {
    return {text_of(files.model), text_of(files.diffusion_model), text_of(files.llm), text_of(files.vae)};
}

std::vector<AdapterUse> adapter_uses(const sd_lora_t * loras, uint32_t count) {
    std::vector<AdapterUse> uses;
    for (uint32_t i = 0; loras != nullptr && i < count; ++i) {
        const sd_lora_t & lora = loras[i];
        if (text_of(lora.path).empty()) throw Error({"E_ARGUMENT", {}, {}, "an adapter has no path", {}});
        if (lora.is_high_noise) {
            throw Error({"E_ARGUMENT",
                         lora.path,
                         {},
                         "is for the first stage of a model in two stages",
                         "models here have one"});
        }
        uses.push_back({lora.path, lora.multiplier});
    }
    return uses;
}

QuantOptions quant_options(const sd_load_params_t & params) {
    QuantOptions options;
    options.assume_int8_group = params.assume_int8_group;
    return options;
}

} // namespace sd

extern "C" void sd_load_params_init(sd_load_params_t * params) { *params = {}; }

extern "C" bool sd_model_reads_file(const sd_model_files_t * files, const char * path) {
    return sd::at_boundary(false, [&] {
        if (files == nullptr) throw sd::Error("sd_model_reads_file: no files");
        sd::ReadFiles read;
        const sd::ReadFiles::Recording recording(read);
        sd::open_model(sd::paths_of(*files));
        return read.has(sd::text_of(path));
    });
}

extern "C" bool sd_inspect(const sd_load_params_t * params, sd_inspect_format_t format, char ** report) {
    return sd::at_boundary(false, [&] {
        if (params == nullptr || report == nullptr) throw sd::Error("sd_inspect: no parameters");
        *report = nullptr;
        const sd::Checkpoint checkpoint = sd::open_model(sd::paths_of(params->files));
        const sd::InspectReport found = sd::inspect(checkpoint, sd::quant_options(*params));
        *report =
            sd::new_text(format == SD_INSPECT_JSON ? sd::inspect_json(found)
                                                   : sd::inspect_text(found, format == SD_INSPECT_LAYERS));
        if (found.problem) sd::set_last_error(*found.problem);
        return !found.problem;
    });
}
