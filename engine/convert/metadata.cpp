#include "convert/metadata.h"

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/comfy_quant/collect.h"
#include "convert/gguf_start.h"
#include "gguf.h"
#include "models/families.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

namespace sd {
namespace {

constexpr const char * kSettings = "_quantization_metadata";
constexpr std::string_view kForeign = "safetensors.";
constexpr const char *kArchitecture = "general.architecture", *kFileType = "general.file_type",
                     *kQuantization = "general.quantization_version";

bool is_utf8(const std::string & text) {
    try {
        nlohmann::json(text).dump();
        return true;
    } catch (const nlohmann::json::exception &) {
        return false;
    }
}

std::string number_text(double value, int digits) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    return text;
}

// A pair as text; nothing for lists.
std::optional<std::string> pair_text(const gguf_context * pairs, int64_t i) {
    switch (gguf_get_kv_type(pairs, i)) {
    case GGUF_TYPE_UINT8: return std::to_string(gguf_get_val_u8(pairs, i));
    case GGUF_TYPE_INT8: return std::to_string(gguf_get_val_i8(pairs, i));
    case GGUF_TYPE_UINT16: return std::to_string(gguf_get_val_u16(pairs, i));
    case GGUF_TYPE_INT16: return std::to_string(gguf_get_val_i16(pairs, i));
    case GGUF_TYPE_UINT32: return std::to_string(gguf_get_val_u32(pairs, i));
    case GGUF_TYPE_INT32: return std::to_string(gguf_get_val_i32(pairs, i));
    case GGUF_TYPE_UINT64: return std::to_string(gguf_get_val_u64(pairs, i));
    case GGUF_TYPE_INT64: return std::to_string(gguf_get_val_i64(pairs, i));
    case GGUF_TYPE_FLOAT32: return number_text(double(gguf_get_val_f32(pairs, i)), 9);
    case GGUF_TYPE_FLOAT64: return number_text(gguf_get_val_f64(pairs, i), 17);
    case GGUF_TYPE_BOOL: return gguf_get_val_bool(pairs, i) ? "true" : "false";
    case GGUF_TYPE_STRING: return gguf_get_val_str(pairs, i);
    default: return std::nullopt;
    }
}

// Facts about the container and not the model.
bool is_about_container(const std::string & key) {
    return key == GGUF_KEY_GENERAL_ALIGNMENT || key == kFileType || key == kQuantization ||
           key.starts_with(kOriginalShapeKey) || key == std::string(kForeign) + kSettings;
}

void add_pairs(const OpenedFile & opened, std::map<std::string, std::string> & metadata) {
    const gguf_context * pairs = opened.container.pairs.get();
    size_t lost = 0;
    std::string first;
    for (int64_t i = 0; i < gguf_get_n_kv(pairs); ++i) {
        std::string key = gguf_get_key(pairs, i);
        if (is_about_container(key)) continue;
        std::optional<std::string> text = pair_text(pairs, i);
        if (text && is_utf8(key) && is_utf8(*text)) {
            if (key.starts_with(kForeign)) key.erase(0, kForeign.size());
            metadata.emplace(std::move(key), std::move(*text));
        } else if (lost++ == 0) {
            first = key;
        }
    }
    if (lost > 0)
        log_warn(opened.file.path() + ": " + std::to_string(lost) + " of its pairs are lists (the first is " +
                 printable(first) + "), which safetensors cannot hold: they are left out" +
                 (first.starts_with("tokenizer.") ? "; for running the model name this file with --tokenizer"
                                                  : ""));
}

// Settings of layers in the headers of all files, as one text; "" for none.
std::string settings_text(const Checkpoint & checkpoint, const ConvertPlan & plan) {
    std::vector<const OpenedFile *> files;
    for (const OpenedFile & f : checkpoint.files()) {
        if (f.container.metadata.contains(kSettings)) files.push_back(&f);
    }
    if (files.empty()) return {};
    if (files.size() == 1 && !plan.renamed && plan.plain.empty())
        return files[0]->container.metadata.at(kSettings);
    nlohmann::json all, layers = nlohmann::json::object();
    for (const OpenedFile * f : files) {
        try {
            nlohmann::json one = nlohmann::json::parse(f->container.metadata.at(kSettings));
            for (auto & [name, settings] : one.at("layers").items()) {
                const std::optional<std::string> module = header_module(checkpoint, name, f->component);
                if (module && !plan.plain.contains(*module))
                    layers[plan.renamed ? *module : name] = std::move(settings);
            }
            if (all.is_null()) all = std::move(one);
        } catch (const nlohmann::json::exception &) {
            // Checked when the layers were found, but for numbers without a meaning here.
            throw Error({"E_CONFIG_JSON", f->file.path(), {}, "settings of layers cannot be copied", {}});
        }
    }
    if (layers.empty()) return {};
    all["layers"] = std::move(layers);
    return all.dump();
}

// Names that other tools for GGUF files know models by.
std::string architecture(const Checkpoint & checkpoint, const QuantModules & quants) {
    std::vector<FoundModel> models;
    try {
        models = find_models(checkpoint, quants);
    } catch (const Error & error) {
        log_warn(std::string(error.what()) + ": the file gets no general.architecture");
    }
    const auto found = [&](auto is) { return std::find_if(models.begin(), models.end(), is); };
    auto model = found([](const FoundModel & m) { return m.role == ModelRole::diffusion; });
    if (model == models.end()) model = found([](const FoundModel & m) { return m.runs; });
    if (model == models.end()) return {};
    return model->family == "qwen3_vl" ? "qwen3vl" : model->family;
}

bool is_retyped(const PlannedTensor & t) { return t.module != nullptr || t.type != t.source->type; }

} // namespace

std::map<std::string, std::string> safetensors_metadata(const Checkpoint & checkpoint,
                                                        const ConvertPlan & plan) {
    std::map<std::string, std::string> metadata;
    for (const OpenedFile & opened : checkpoint.files()) {
        metadata.insert(opened.container.metadata.begin(), opened.container.metadata.end());
        if (opened.container.pairs != nullptr) add_pairs(opened, metadata);
    }
    metadata.erase(kSettings);
    const std::string settings = settings_text(checkpoint, plan);
    if (!settings.empty()) metadata[kSettings] = settings;
    return metadata;
}

GgufPairs gguf_pairs(const Checkpoint & checkpoint, const QuantModules & quants, const ConvertPlan & plan) {
    const bool retyped = std::any_of(plan.tensors.begin(), plan.tensors.end(), is_retyped);
    const bool blocks = std::any_of(plan.tensors.begin(), plan.tensors.end(),
                                    [](const PlannedTensor & t) { return is_blocks(t.type); });
    std::set<std::string> without;
    if (retyped || checkpoint.files().size() > 1) without.insert(kFileType);
    // That of a part stays, also in a file of all parts: names of hyper-parameters begin with it.
    const auto has_architecture = [](const OpenedFile & f) {
        const gguf_context * pairs = f.container.pairs.get();
        return pairs != nullptr && gguf_find_key(pairs, kArchitecture) >= 0;
    };
    GgufPairs pairs;
    // Before all others, where readers that look at the beginning of a file expect it.
    if (std::none_of(checkpoint.files().begin(), checkpoint.files().end(), has_architecture)) {
        const std::string name = architecture(checkpoint, quants);
        if (!name.empty()) pairs.add_text(kArchitecture, name);
    }
    size_t known = 0;
    for (const OpenedFile & opened : checkpoint.files()) {
        if (opened.container.pairs != nullptr)
            known += pairs.copy(opened.file, opened.container.pairs.get(), without);
    }
    if (known > 0)
        log_warn(std::to_string(known) + " pairs of later files are left out: earlier ones have them");
    for (const OpenedFile & opened : checkpoint.files()) {
        for (const auto & [key, text] : opened.container.metadata) {
            if (key != kSettings && key.find('\0') == key.npos)
                pairs.add_text(std::string(kForeign) + key, text);
        }
    }
    const std::optional<uint32_t> file_type = gguf_file_type(plan.tensors);
    if (file_type) pairs.add_u32(kFileType, *file_type);
    if (blocks) pairs.add_u32(kQuantization, 2);
    return pairs;
}

} // namespace sd
