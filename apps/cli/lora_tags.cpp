#include "apps/cli/lora_tags.h"

#include "apps/cli/checks.h"

#include <charconv>
#include <cmath>
#include <filesystem>

namespace cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "<lora:", kFirstStage = "|high_noise|";

fs::path path_of(std::string_view text) { return fs::path(std::u8string(text.begin(), text.end())); }
std::string text_of(const fs::path & path) {
    const std::u8string text = path.generic_u8string();
    return std::string(text.begin(), text.end());
}

bool find_file(const std::string & folder, std::string_view name, std::string & found, std::string & error) {
    const fs::path given = path_of(name);
    for (const fs::path & step : given) {
        if (step != "..") continue;
        error = "the adapter " + cli::quoted(std::string(name)) +
                " leads out of its folder (names have no \"..\")";
        return false;
    }
    const fs::path base = given.is_absolute() ? given : path_of(folder) / given;
    for (const char * ending : {"", ".gguf", ".safetensors", ".pt", ".ckpt"}) {
        fs::path file = base;
        file += ending;
        std::error_code problem;
        if (!fs::is_regular_file(file, problem)) continue;
        found = text_of(file);
        return true;
    }
    std::error_code problem;
    if (!given.is_absolute() && !fs::is_directory(path_of(folder), problem)) {
        error = "there is no folder " + folder + " with adapters (--lora-model-dir DIR names one)";
        return false;
    }
    error = "there is no adapter " + cli::quoted(std::string(name)) + " in the folder " + folder +
            " (--lora-model-dir DIR names another one)";
    return false;
}

bool parse_strength(std::string_view text, float & strength) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), strength);
    return problem == std::errc() && end == text.data() + text.size() && std::isfinite(strength);
}

bool parse_tag(const std::string & folder, const std::string & tag, Lora & lora, std::string & error) {
    const std::string_view inner =
        std::string_view(tag).substr(kBegin.size(), tag.size() - kBegin.size() - 1);
    const size_t colon = inner.find(':');
    if (colon == std::string_view::npos || colon == 0 ||
        !parse_strength(inner.substr(colon + 1), lora.strength)) {
        error =
            "the prompt's " + cli::quoted(tag) + " is no adapter: <lora:NAME:STRENGTH>, as <lora:style:0.8>";
        return false;
    }
    const std::string_view name = inner.substr(0, colon);
    if (name.starts_with(kFirstStage)) {
        error = cli::quoted(tag) + ": |high_noise| belongs to two-stage sampling, which is not built";
        return false;
    }
    return find_file(folder, name, lora.path, error);
}

} // namespace

bool take_lora_tags(const std::string & folder, std::string & prompt, std::vector<Lora> & loras,
                    std::string & error) {
    for (size_t at = prompt.find(kBegin); at != std::string::npos; at = prompt.find(kBegin, at)) {
        const size_t end = prompt.find('>', at);
        if (end == std::string::npos) {
            error = "the prompt's <lora: has no end: <lora:NAME:STRENGTH>";
            return false;
        }
        Lora lora = {};
        if (!parse_tag(folder, prompt.substr(at, end + 1 - at), lora, error)) return false;
        loras.push_back(std::move(lora));
        prompt.erase(at, end + 1 - at);
    }
    return true;
}

} // namespace cli
