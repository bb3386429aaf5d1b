#include "checkpoint/comfy_quant/collect.h"

#include "checkpoint/values/read_values.h"

namespace sd {
namespace {

constexpr std::string_view kMarker = ".comfy_quant";
constexpr const char * kMetadata = "_quantization_metadata";

std::string marker_text(const Checkpoint & checkpoint, const TensorInfo & marker) {
    if (marker.type != StoredType::u8)
        throw checkpoint.error(marker, "E_CONFIG_DTYPE",
                               "settings are U8 text, this tensor is " + std::string(type_name(marker.type)));
    const int64_t bytes = marker.elements();
    if (bytes > kMostSettingsBytes)
        throw checkpoint.error(marker, "E_CONFIG_SIZE",
                               "settings have at most " + std::to_string(kMostSettingsBytes) +
                                   " bytes, this tensor has " + std::to_string(bytes));
    std::string text(size_t(bytes), '\0');
    read_stored(checkpoint, marker, {}, text.data(), {.threads = 1});
    return text;
}

SettingsEntry marker_entry(const Checkpoint & checkpoint, const TensorInfo & marker,
                           const TensorInfo * weight) {
    SettingsEntry entry;
    entry.marker = &marker;
    entry.weight = weight;
    try {
        entry.settings = parse_settings(marker_text(checkpoint, marker));
    } catch (const Error & error) {
        if (!error.parts().file.empty()) throw;
        throw checkpoint.error(marker, error.parts().code, error.parts().cause, error.parts().advice);
    }
    if (weight == nullptr && !entry.settings.blank)
        throw checkpoint.error(marker, "E_WEIGHT_MISSING", "there is no weight beside these settings",
                               "the file is not complete: get it again");
    return entry;
}

void add_header(const Checkpoint & checkpoint, const OpenedFile & opened, const std::string & text,
                std::map<std::string, SettingsEntry> & entries) {
    const auto fail = [&](std::string code, std::string cause, std::string advice = {}) {
        return Error({std::move(code), opened.file.path(), {}, std::move(cause), std::move(advice)});
    };
    const LayerSettings layer = [&](const std::string & name, const QuantSettings & settings) {
        const std::optional<std::string> module = header_module(checkpoint, name, opened.component);
        if (!module)
            throw fail("E_WEIGHT_MISSING",
                       "the header has settings of layer " + in_quotes(name) + ", which has no weight",
                       "the file is not complete: get it again");
        SettingsEntry & entry = entries[*module];
        if (std::string_view(entry.from) == "header")
            throw fail("E_CONFIG_JSON", "the header has settings of layer " + in_quotes(name) + " twice");
        entry.settings = settings;
        entry.weight = part_of(checkpoint, *module, ".weight");
        entry.from = "header";
    };
    try {
        parse_header_settings(text, layer);
    } catch (const Error & error) {
        if (!error.parts().file.empty()) throw;
        throw fail(error.parts().code, std::string("the header's ") + kMetadata + ": " + error.parts().cause,
                   error.parts().advice);
    }
}

} // namespace

const TensorInfo * part_of(const Checkpoint & checkpoint, const std::string & module,
                           std::string_view suffix) {
    return checkpoint.find(module + std::string(suffix));
}

std::optional<std::string> header_module(const Checkpoint & checkpoint, const std::string & name,
                                         Component component) {
    for (const char * prefix : {"", "model.diffusion_model.", "diffusion_model.", "model."}) {
        std::string module = table_name(prefix + name, component);
        if (part_of(checkpoint, module, ".weight") != nullptr) return module;
    }
    return std::nullopt;
}

std::map<std::string, SettingsEntry> collect_settings(const Checkpoint & checkpoint) {
    std::map<std::string, SettingsEntry> entries;
    for (const TensorInfo & tensor : checkpoint.tensors()) {
        if (!tensor.name.ends_with(kMarker)) continue;
        const std::string module = tensor.name.substr(0, tensor.name.size() - kMarker.size());
        entries[module] = marker_entry(checkpoint, tensor, part_of(checkpoint, module, ".weight"));
    }
    for (const OpenedFile & opened : checkpoint.files()) {
        const auto found = opened.container.metadata.find(kMetadata);
        if (found != opened.container.metadata.end()) add_header(checkpoint, opened, found->second, entries);
    }
    return entries;
}

} // namespace sd
