#include "adapters/keys.h"

#include <utility>

namespace sd {
namespace {

using enum AdapterRole;

struct Ending {
    std::string_view text;
    AdapterRole role;
    std::string_view kind = {};
};

// None is the ending of another one with another meaning.
constexpr Ending kEndings[] = {
    {".lora_down.weight", down},
    {".lora.down.weight", down},
    {"_lora.down.weight", down},
    {".lora_up.weight", up},
    {".lora.up.weight", up},
    {"_lora.up.weight", up},
    {".lora_mid.weight", mid},
    {".lora.mid.weight", mid},
    {"_lora.mid.weight", mid},
    {".lora_A", down},
    {".lora_B", up},
    {".alpha", alpha},
    {".lora_linear", alpha}, // some converters' name of it
    {".scale", AdapterRole::scale},
    {".diff", difference},
    {".w_norm", difference},
    {".diff_b", bias_difference},
    {".b_norm", bias_difference},
    {".hada_w1_a", hada_w1_a},
    {".hada_w1_b", hada_w1_b},
    {".hada_w2_a", hada_w2_a},
    {".hada_w2_b", hada_w2_b},
    {".hada_t1", hada_t1},
    {".hada_t2", hada_t2},
    {".lokr_w1", lokr_w1},
    {".lokr_w1_a", lokr_w1_a},
    {".lokr_w1_b", lokr_w1_b},
    {".lokr_w2", lokr_w2},
    {".lokr_w2_a", lokr_w2_a},
    {".lokr_w2_b", lokr_w2_b},
    {".lokr_t2", lokr_t2},
    {".dora_scale", unsupported, "DoRA"},
    {".lora_magnitude_vector", unsupported, "DoRA"},
    {".lora_magnitude_vector.weight", unsupported, "DoRA"},
    {".set_weight", unsupported, "whole weights"},
    {".reshape_weight", unsupported, "reshaped weights"},
    {".lora_B.bias", unsupported, "LoRA with biases"},
    {".lora_embedding_A", unsupported, "LoRA of token tables"},
    {".lora_embedding_B", unsupported, "LoRA of token tables"},
    {".a1.weight", unsupported, "GLoRA"},
    {".a2.weight", unsupported, "GLoRA"},
    {".b1.weight", unsupported, "GLoRA"},
    {".b2.weight", unsupported, "GLoRA"},
    {".oft_blocks", unsupported, "OFT"},
    {".oft_diag", unsupported, "OFT"},
    {".oft_R.weight", unsupported, "OFT"},
    {".boft_R", unsupported, "BOFT"},
    {".boft_s", unsupported, "BOFT"},
};

// ".lora_A.NAME.weight" and ".lora_A.weight": PEFT's, with the name of the adapter in its program.
std::optional<AdapterKey> peft_key(std::string_view name) {
    constexpr std::string_view kWeight = ".weight", kDown = ".lora_A.", kUp = ".lora_B.";
    if (!name.ends_with(kWeight)) return std::nullopt;
    name.remove_suffix(kWeight.size() - 1); // the dot stays
    for (const auto & [middle, role] : {std::pair(kDown, down), std::pair(kUp, up)}) {
        const size_t at = name.rfind(middle);
        if (at == std::string_view::npos || at == 0) continue;
        const std::string_view rest = name.substr(at + middle.size());
        const bool one_word = rest.find('.') == std::string_view::npos || rest.find('.') + 1 == rest.size();
        if (one_word) return AdapterKey{std::string(name.substr(0, at)), role, {}};
    }
    return std::nullopt;
}

// Old attention processors of diffusers stand between a layer and its adapter.
std::string without_processor(std::string module) {
    constexpr std::string_view kProcessor = ".processor";
    const size_t at = module.find(kProcessor);
    if (at != std::string::npos) module.erase(at, kProcessor.size());
    return module;
}

} // namespace

std::optional<AdapterKey> parse_adapter_key(std::string_view name) {
    std::optional<AdapterKey> key = peft_key(name);
    for (const Ending & e : kEndings) {
        if (key || name.size() <= e.text.size() || !name.ends_with(e.text)) continue;
        key = AdapterKey{std::string(name.substr(0, name.size() - e.text.size())), e.role, e.kind};
    }
    if (key) key->module = without_processor(std::move(key->module));
    return key;
}

} // namespace sd
