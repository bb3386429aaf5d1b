#include "adapters/targets.h"

#include "adapters/change.h"
#include "models/krea2/config.h"
#include "models/qwen3_vl/config.h"

#include <algorithm>

namespace sd {
namespace {

constexpr std::string_view kWeight = ".weight", kBias = ".bias";

// In front of names with dots. Longer ones before those they end with; none at all comes last.
constexpr std::string_view kDiffusion[] = {"model.diffusion_model.", "diffusion_model.", "transformer.",
                                           "unet.", ""};
constexpr std::string_view kText[] = {"text_encoders.llm.",
                                      "text_encoders.qwen3vl_4b.transformer.",
                                      "text_encoder.",
                                      "te1.",
                                      "te.",
                                      "cond_stage_model.",
                                      "conditioner.embedders.0.",
                                      ""};
constexpr std::string_view kPeft = "base_model.model.";

// In front of flattened names, and what may follow.
constexpr std::string_view kFlat[] = {"lora_unet_",         "lora_transformer_", "lora_te1_", "lora_te_",
                                      "lora_text_encoder_", "lycoris_",          "lora_"};
constexpr std::string_view kFlatInner[] = {"unet_", "transformer_", "diffusion_model_", "te_",
                                           "text_encoder_"};
// What trainers leave in front of a language model's layers.
constexpr std::string_view kFlatText[] = {"", "model_", "language_model_", "model_language_model_",
                                          "language_model_model_"};

// Fused projections of attention, and the names of their parts.
struct Fused {
    std::string_view name;
    std::array<std::string_view, 3> parts;
};
constexpr Fused kFused[] = {{"to_qkv", {"to_q", "to_k", "to_v"}},
                            {"qkv_proj", {"q_proj", "k_proj", "v_proj"}},
                            {"qkv", {"wq", "wk", "wv"}}};

std::string flat(std::string_view name) {
    std::string out(name);
    std::replace(out.begin(), out.end(), '.', '_');
    return out;
}

std::string_view without(std::string_view name, std::string_view prefix) {
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

std::string canonical(AdapterPart part, const std::string & name) {
    return part == AdapterPart::diffusion ? krea2_name(name) : qwen3_vl_name(name);
}

} // namespace

AdapterTargets::AdapterTargets(const ModelTable & diffusion, const ModelTable & text)
    : tables_{&diffusion, &text} {
    add_flat_names(AdapterPart::diffusion);
    add_flat_names(AdapterPart::text_encoder);
}

void AdapterTargets::add_flat_names(AdapterPart part) {
    for (const auto & entry : tables_[size_t(part)]->tensors()) {
        const std::string & tensor = entry.first;
        if (!has(part, tensor)) continue;
        const auto add = [&](std::string_view name) {
            if (name.ends_with(kWeight)) name.remove_suffix(kWeight.size());
            if (part == AdapterPart::diffusion) {
                flat_.emplace(flat(name), Place{part, tensor});
                return;
            }
            for (const std::string_view before : kFlatText)
                flat_.emplace(std::string(before) += flat(name), Place{part, tensor});
        };
        add(tensor);
        if (part == AdapterPart::diffusion) add(krea2_diffusers_name(tensor));
    }
}

// The token table is read by rows and not as a layer, and the vision part is not run.
bool AdapterTargets::has(AdapterPart part, const std::string & tensor) const {
    if (part == AdapterPart::text_encoder &&
        (tensor.starts_with("embed_tokens.") || tensor.starts_with("visual.")))
        return false;
    return tables_[size_t(part)]->find(tensor) != nullptr;
}

const AdapterTargets::Place * AdapterTargets::find_flat(std::string_view name) const {
    const auto look = [&](std::string_view key) -> const Place * {
        const auto found = flat_.find(key);
        return found != flat_.end() ? &found->second : nullptr;
    };
    for (const std::string_view prefix : kFlat) {
        if (!name.starts_with(prefix)) continue;
        const std::string_view rest = name.substr(prefix.size());
        if (const Place * place = look(rest)) return place;
        for (const std::string_view inner : kFlatInner) {
            if (!rest.starts_with(inner)) continue;
            if (const Place * place = look(rest.substr(inner.size()))) return place;
        }
    }
    return nullptr;
}

std::vector<AdapterTarget> AdapterTargets::target(AdapterPart part, const std::string & tensor) const {
    const auto [n, k] = matrix_sizes(tables_[size_t(part)]->get(tensor).shape);
    return {{part, tensor, n, k}};
}

std::vector<AdapterTarget> AdapterTargets::find_one(std::string_view name) const {
    if (name.find('.') == std::string_view::npos) {
        if (const Place * place = find_flat(name)) return target(place->part, place->tensor);
    }
    const auto in_part = [&](AdapterPart part, std::string_view prefix) -> std::vector<AdapterTarget> {
        std::string_view rest = without(name, kPeft);
        if (!rest.starts_with(prefix)) return {};
        rest = without(rest.substr(prefix.size()), kPeft);
        for (const std::string_view ending : {std::string_view(), kWeight}) {
            const std::string tensor = canonical(part, std::string(rest) += ending);
            if (has(part, tensor)) return target(part, tensor);
        }
        return {};
    };
    for (const std::string_view prefix : kDiffusion) {
        if (auto found = in_part(AdapterPart::diffusion, prefix); !found.empty()) return found;
    }
    for (const std::string_view prefix : kText) {
        if (auto found = in_part(AdapterPart::text_encoder, prefix); !found.empty()) return found;
    }
    return {};
}

std::vector<AdapterTarget> AdapterTargets::find(const std::string & name) const {
    std::vector<AdapterTarget> found = find_one(name);
    for (const Fused & fused : kFused) {
        if (!found.empty() || !name.ends_with(fused.name)) continue;
        const std::string before = name.substr(0, name.size() - fused.name.size());
        for (const std::string_view part : fused.parts) {
            const std::vector<AdapterTarget> one = find_one(before + std::string(part));
            if (one.empty() || one[0].k != (found.empty() ? one[0].k : found[0].k)) return {};
            found.push_back(one[0]);
        }
    }
    return found;
}

std::vector<AdapterTarget> AdapterTargets::find_bias(const std::string & name) const {
    std::vector<AdapterTarget> found = find_one(name);
    if (found.empty() || !found[0].tensor.ends_with(kWeight)) return {};
    AdapterTarget & bias = found[0];
    bias.tensor.replace(bias.tensor.size() - kWeight.size(), kWeight.size(), kBias);
    bias.k = bias.n;
    bias.n = 1;
    return found;
}

} // namespace sd
