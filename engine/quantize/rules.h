// Formats a weight can be written in, and the file of rules that says which layer gets which.
#pragma once

#include "checkpoint/comfy_quant/quant_module.h"

#include <optional>
#include <string>
#include <vector>

namespace sd {

enum class LayerFormat { int8, int8_convrot, w4a4, w4a8 };
constexpr LayerFormat kLayerFormats[] = {LayerFormat::int8, LayerFormat::int8_convrot, LayerFormat::w4a4,
                                         LayerFormat::w4a8};

const char * layer_format_name(LayerFormat format); // as people write it
// Nothing for other names.
std::optional<LayerFormat> layer_format(const std::string & name);
std::string layer_format_names(); // "int8, int8-convrot, ..."

// How files call it.
QuantFormat quant_format_of(LayerFormat format);

// A line "PATTERN = FORMAT", "PATTERN = FORMAT/GROUP" or "PATTERN = keep".
struct LayerRule {
    std::string pattern;
    std::optional<LayerFormat> format; // nothing: the layer stays as it is
    int group = 0;                     // 0: the usual one
    int line = 0;
};

// Empty lines, and what follows a '#', mean nothing. An Error names the file and the line.
std::vector<LayerRule> read_rules(const std::string & path);

} // namespace sd
