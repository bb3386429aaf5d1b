// What each format asks of a module's tensors and settings: one function per format.
#pragma once

#include "checkpoint/comfy_quant/collect.h"
#include "checkpoint/comfy_quant/quant_module.h"

#include <optional>

namespace sd {

std::optional<QuantFormat> quant_format(const std::string & name); // as files spell it
std::string supported_formats(bool has_operators);                 // "int8_tensorwise, convrot_w4a4, ..."

// The module, or an Error. `scale` is what its row scale is called: ".weight_scale" or older files' names.
QuantModule check_module(const Checkpoint & checkpoint, const std::string & name, const SettingsEntry & entry,
                         QuantFormat format, std::string_view scale = ".weight_scale");

} // namespace sd
