#include "models/families.h"

#include "models/krea2/config.h"
#include "models/qwen3_vl/config.h"
#include "models/signatures.h"
#include "models/wan_vae/config.h"

#include <algorithm>
#include <span>

namespace sd {
namespace {

// Where a part's tensors can be. None at all comes last: a part of an all-in-one file is not the whole file.
constexpr std::string_view kDiffusion[] = {"model.diffusion_model.", ""};
constexpr std::string_view kText[] = {"text_encoders.llm.", "text_encoders.qwen3vl_4b.transformer.", ""};
constexpr std::string_view kVae[] = {"vae.", "first_stage_model.", ""};

using Prefixes = std::span<const std::string_view>;

std::string text(int64_t value) { return std::to_string(value); }

FoundModel found(const ModelTable & table, const std::vector<ExpectedTensor> & expected, FoundModel model) {
    const TableCheck check = check_table(table, expected);
    model.missing = check.missing;
    model.unused = check.unused;
    return model;
}

FoundModel krea2(const ModelTable & table, std::string_view prefix) {
    const Krea2Config c = krea2_config(table);
    return found(
        table, krea2_tensors(c),
        {"krea2",
         "Krea 2",
         ModelRole::diffusion,
         true,
         std::string(prefix),
         {{"layers", text(c.layers)},
          {"width", text(c.features)},
          {"heads", text(c.heads) + " (" + text(c.kv_heads) + " for keys and values) of " + text(c.head_dim)},
          {"MLP width", text(c.mlp)},
          {"latent channels", text(c.in_channels)},
          {"text", text(c.text_layers) + " states of " + text(c.text_dim)}}});
}

FoundModel qwen3_vl(const ModelTable & table, std::string_view prefix) {
    const Qwen3VlConfig c = qwen3_vl_config(table);
    const std::string architecture = qwen3_architecture(table);
    const bool plain = architecture == "qwen3";
    FoundModel model = found(
        table, qwen3_vl_tensors(c),
        {plain ? "qwen3" : "qwen3_vl",
         plain ? "Qwen3" : "Qwen3-VL",
         ModelRole::text_encoder,
         !plain,
         std::string(prefix),
         {{"layers", text(c.layers)},
          {"width", text(c.hidden)},
          {"heads", text(c.heads) + " (" + text(c.kv_heads) + " for keys and values) of " + text(c.head_dim)},
          {"MLP width", text(c.mlp)},
          {"vocabulary", text(c.vocab)},
          {"states for a diffusion model", text(int64_t(c.taps().size()))}}});
    // The vision part is known and only needed for pictures as input.
    std::erase_if(model.unused, [](const std::string & name) { return name.starts_with("visual."); });
    return model;
}

FoundModel wan_vae(const ModelTable & table, std::string_view prefix) {
    const WanVaeConfig c = wan_vae_config(table);
    return found(table, wan_vae_tensors(c),
                 {"wan_vae",
                  "Wan 2.1 VAE",
                  ModelRole::vae,
                  true,
                  std::string(prefix),
                  {{"width", text(c.dim)},
                   {"latent channels", text(WanVaeConfig::z_channels)},
                   {"parts", c.encoder && c.decoder ? "encoder and decoder"
                             : c.decoder            ? "decoder only"
                                                    : "encoder only"}}});
}

struct Known {
    Prefixes prefixes;
    CanonicalName canonical;
    bool (*is)(const ModelTable &);
    FoundModel (*describe)(const ModelTable &, std::string_view);
};

const Known kKnown[] = {
    {kDiffusion, krea2_name, is_krea2, krea2},
    {kText, qwen3_vl_name, is_qwen3, qwen3_vl},
    {kVae, wan_vae_name, is_wan_vae, wan_vae},
};

bool begins(const Checkpoint & checkpoint, std::string_view prefix, std::string_view name) {
    const std::string whole = std::string(prefix) + std::string(name);
    const auto & tensors = checkpoint.tensors(); // sorted
    const auto at = std::lower_bound(tensors.begin(), tensors.end(), whole,
                                     [](const TensorInfo & t, const std::string & n) { return t.name < n; });
    return at != tensors.end() && at->name.starts_with(whole);
}

void find_others(const Checkpoint & checkpoint, std::vector<FoundModel> & models) {
    const auto has_role = [&](ModelRole role) {
        return std::any_of(models.begin(), models.end(),
                           [&](const FoundModel & m) { return m.role == role; });
    };
    for (const Signature & s : signatures()) {
        if (has_role(s.role)) continue;
        const Prefixes prefixes = s.role == ModelRole::diffusion ? Prefixes(kDiffusion)
                                  : s.role == ModelRole::vae     ? Prefixes(kVae)
                                                                 : Prefixes(kText);
        for (const std::string_view prefix : prefixes) {
            if (!begins(checkpoint, prefix, s.tensors[0])) continue;
            if (!s.tensors[1].empty() && !begins(checkpoint, prefix, s.tensors[1])) continue;
            models.push_back({s.family, s.title, s.role, false, std::string(prefix), {}, {}, {}});
            break;
        }
    }
}

bool is_adapter(const Checkpoint & checkpoint) {
    const auto part = [](const TensorInfo & t) {
        for (const char * p : {".lora_up.", ".lora_down.", ".lora_A.", ".lora_B.", ".lokr_w", ".hada_w"}) {
            if (t.name.find(p) != std::string::npos) return true;
        }
        return false;
    };
    return std::any_of(checkpoint.tensors().begin(), checkpoint.tensors().end(), part);
}

} // namespace

const char * role_name(ModelRole role) {
    switch (role) {
    case ModelRole::diffusion: return "diffusion model";
    case ModelRole::text_encoder: return "text encoder";
    case ModelRole::vae: return "VAE";
    case ModelRole::adapter: return "adapter";
    }
    return "";
}

std::vector<FoundModel> find_models(const Checkpoint & checkpoint, const QuantModules & quants) {
    std::vector<FoundModel> models;
    if (is_adapter(checkpoint)) {
        models.push_back({"adapter", "LoRA or related", ModelRole::adapter, false, {}, {}, {}, {}});
        return models;
    }
    for (const Known & known : kKnown) {
        for (const std::string_view prefix : known.prefixes) {
            const ModelTable table(checkpoint, quants, prefix, known.canonical);
            if (!known.is(table)) continue;
            models.push_back(known.describe(table, prefix));
            break;
        }
    }
    find_others(checkpoint, models);
    return models;
}

} // namespace sd
