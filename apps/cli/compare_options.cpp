#include "apps/cli/compare_options.h"

#include "apps/cli/checks.h"

namespace cli {

void add_compare_options(CLI::App & app, CompareArguments & c) {
    const auto option = [&](const char * flags, std::string & value, const char * text) {
        app.add_option(flags, value, text)
            ->group("Comparing two models (-M compare)")
            ->type_name("FILE")
            ->check(not_empty());
    };
    option("--compare-model", c.model, "the second model, as --model; what else is not given is the first's");
    option("--compare-diffusion-model", c.diffusion_model, "the second model's --diffusion-model");
    option("--compare-llm", c.llm, "the second model's --llm");
    option("--compare-vae", c.vae, "the second model's --vae");
}

} // namespace cli
