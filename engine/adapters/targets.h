// Which tensor of a model a name in an adapter file means, in every convention trainers write: the model's
// own names, those of diffusers, with the prefixes of ComfyUI, PEFT and others, and flattened ones (kohya's),
// where dots are underscores. Flattened names are looked up among those of the model, never guessed apart.
#pragma once

#include "models/common/model_table.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

enum class AdapterPart { diffusion, text_encoder };
constexpr size_t kAdapterParts = 2;

struct AdapterTarget {
    AdapterPart part;
    std::string tensor; // the model's own name, "blocks.0.attn.wq.weight"
    int64_t n, k;       // what has not two dimensions is one row
};

class AdapterTargets {
  public:
    // The tables must live longer.
    AdapterTargets(const ModelTable & diffusion, const ModelTable & text);

    // The weight of a module, or the tensor of that name; of a fused one (qkv) its parts, in the order of
    // their rows. Empty: the models have none.
    std::vector<AdapterTarget> find(const std::string & name) const;

    // The bias of a layer, which need not have one so far. For fused names no biases.
    std::vector<AdapterTarget> find_bias(const std::string & name) const;

  private:
    struct Place {
        AdapterPart part;
        std::string tensor;
    };
    void add_flat_names(AdapterPart part);
    const Place * find_flat(std::string_view name) const;
    std::vector<AdapterTarget> find_one(std::string_view name) const;
    std::vector<AdapterTarget> target(AdapterPart part, const std::string & tensor) const;
    bool has(AdapterPart part, const std::string & tensor) const;

    std::array<const ModelTable *, kAdapterParts> tables_;
    std::map<std::string, Place, std::less<>> flat_;
};

} // namespace sd
