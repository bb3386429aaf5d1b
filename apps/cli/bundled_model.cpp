#include "apps/cli/bundled_model.h"

#include <system_error>

namespace cli {
namespace {

namespace fs = std::filesystem;

// The folder from the program's, as it is installed; CMake says.
constexpr const char * kInstalled = SD_CLI_SHARE "/convrot/demo";

std::string text_of(const fs::path & path) {
    const std::u8string text = path.u8string();
    return {text.begin(), text.end()};
}

} // namespace

std::optional<BundledModel> find_bundled_model(const fs::path & folder_of_program) {
    for (const char * place : {"demo", kInstalled}) {
        const fs::path folder = (folder_of_program / place).lexically_normal();
        const fs::path files[] = {folder / "demo-krea2-int8-convrot.safetensors",
                                  folder / "demo-qwen3-vl-q8_0.gguf", folder / "demo-wan-vae.safetensors"};
        bool all = true;
        for (const fs::path & file : files) {
            std::error_code problem;
            all = all && fs::is_regular_file(file, problem);
        }
        if (all) return BundledModel{text_of(files[0]), text_of(files[1]), text_of(files[2])};
    }
    return {};
}

std::string use_bundled_model(Arguments & a) {
    // Also an empty name, of a variable that is not set: whoever wrote it meant another model.
    for (const char * option : {"--model", "--diffusion-model", "--llm", "--vae"}) {
        if (a.given.contains(option)) return {};
    }
    std::error_code problem;
    const fs::path program = fs::read_symlink("/proc/self/exe", problem);
    if (problem) return {};
    const std::optional<BundledModel> bundled = find_bundled_model(program.parent_path());
    if (!bundled) return {};
    a.diffusion_model = bundled->diffusion_model;
    a.llm = bundled->llm;
    a.vae = bundled->vae;
    return "no model is given: the bundled one draws emoji by their English names (red apple, rocket); real "
           "models: "
           "--diffusion-model FILE --llm FILE --vae FILE";
}

} // namespace cli
