#include "place/spec.h"

#include "base/error.h"
#include "base/trimmed.h"
#include "place/devices.h"

#include <algorithm>

namespace sd {
namespace {

struct Name {
    const char * name;
    int module;
};

// As other programs call them; the first of each kind is listed in messages.
constexpr Name kNames[] = {{"diffusion", 0},
                           {"model", 0},
                           {"unet", 0},
                           {"dit", 0},
                           {"te", 1},
                           {"clip", 1},
                           {"text", 1},
                           {"textencoder", 1},
                           {"textencoders", 1},
                           {"conditioner", 1},
                           {"cond", 1},
                           {"llm", 1},
                           {"t5", 1},
                           {"t5xxl", 1},
                           {"vae", 2},
                           {"firststage", 2},
                           {"autoencoder", 2},
                           {"tae", 2},
                           {"clipvision", kNoModule},
                           {"vision", kNoModule},
                           {"controlnet", kNoModule},
                           {"control", kNoModule},
                           {"photomaker", kNoModule},
                           {"photomakerid", kNoModule},
                           {"pmid", kNoModule},
                           {"photo", kNoModule},
                           {"upscaler", kNoModule},
                           {"esrgan", kNoModule},
                           {"hires", kNoModule},
                           {"detector", kNoModule},
                           {"adetailer", kNoModule},
                           {"yolo", kNoModule}};

std::string plain(const std::string & name) {
    std::string out = folded(name);
    std::erase_if(out, [](char c) { return c == '-' || c == '_'; });
    return out;
}

} // namespace

std::vector<SpecItem> parse_spec(std::string_view text, const char * option) {
    std::vector<SpecItem> items;
    if (trimmed(text).empty()) return items;
    for (size_t at = 0; at <= text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        const std::string_view item = text.substr(at, end - at);
        at = end + 1;
        const size_t equals = item.find('=');
        const bool named = equals != std::string_view::npos;
        SpecItem parsed = {std::string(named ? trimmed(item.substr(0, equals)) : ""),
                           std::string(trimmed(named ? item.substr(equals + 1) : item))};
        if (parsed.value.empty() || (named && parsed.key.empty())) {
            throw Error({"E_ARGUMENT",
                         {},
                         {},
                         std::string(option) + ": " + in_quotes(trimmed(item), 40) + " in " +
                             in_quotes(text, 60) + " lacks a name or a value",
                         "items are VALUE or NAME=VALUE, with commas between them"});
        }
        items.push_back(std::move(parsed));
    }
    return items;
}

bool is_default_key(const std::string & key) {
    const std::string name = folded(key);
    return name.empty() || name == "all" || name == "default" || name == "*";
}

int find_module(const std::string & given, const char * option) {
    const std::string name = plain(given);
    for (const Name & known : kNames) {
        if (name == known.name) return known.module;
    }
    throw Error({"E_ARGUMENT",
                 {},
                 {},
                 std::string(option) + ": there is no module " + in_quotes(given, 40),
                 "modules are diffusion, te, vae, or all of them: *"});
}

const char * module_name(Module module) {
    switch (module) {
    case Module::diffusion: return "diffusion";
    case Module::text: return "te";
    case Module::vae: return "vae";
    }
    return "";
}

} // namespace sd
