#include "apps/cli/console.h"
#include "apps/cli/modes.h"
#include "stable-diffusion.h"

#include <memory>

namespace cli {

int run_inspect(const Arguments & a) {
    sd_load_params_t params;
    sd_load_params_init(&params);
    params.files = {a.model.c_str(), a.diffusion_model.c_str(), a.llm.c_str(), a.vae.c_str()};
    params.assume_int8_group = a.assume_int8_group;
    const sd_inspect_format_t format = a.json     ? SD_INSPECT_JSON
                                       : a.layers ? SD_INSPECT_LAYERS
                                                  : SD_INSPECT_TEXT;
    char * report = nullptr;
    const bool sound = sd_inspect(&params, format, &report);
    // The next call of the engine would forget it.
    const std::string error = sd_last_error();
    const std::unique_ptr<char, decltype(&sd_free_text)> owner(report, sd_free_text);
    const bool printed = report == nullptr || print_result(report);
    if (!sound) print_error(error);
    return sound && printed ? 0 : 1;
}

} // namespace cli
