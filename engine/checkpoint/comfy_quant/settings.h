// The settings of a quantized module: one JSON object, in a U8 tensor of the module or among those of all
// modules in the header. Text from strangers: size, depth, encoding, repeated keys and the types of known
// keys are checked here; what the values mean for a module is checked elsewhere. Errors know no file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sd {

constexpr int64_t kMostSettingsBytes = 65536;

// Keys of the object, or of its "params" where the object does not have them. Unknown keys have no effect.
struct QuantSettings {
    std::optional<std::string> format; // absent, null and "" are the same
    std::optional<bool> convrot;
    std::optional<int64_t> convrot_group; // "convrot_groupsize"
    std::optional<int64_t> scale_group;   // "group_size"
    std::optional<std::string> linear_dtype;
    std::optional<bool> full_precision; // "full_precision_matrix_mult"
    bool experts = false;               // "num_experts" is there
    bool blank = true;                  // no key, or none but an empty format
};

// A tensor's bytes. Blank text (nothing but spaces, line ends and zero bytes) is an object without keys.
QuantSettings parse_settings(std::string_view text);

// The header's "_quantization_metadata": calls layer(module, settings) in the order of the text. Memory does
// not grow with the number of layers, apart from what `layer` keeps.
using LayerSettings = std::function<void(const std::string & module, const QuantSettings & settings)>;
void parse_header_settings(std::string_view text, const LayerSettings & layer);

} // namespace sd
