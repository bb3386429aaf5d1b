// Which modules have settings, and which: from markers (`M.comfy_quant`) and from headers.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/settings.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

struct SettingsEntry {
    QuantSettings settings;
    const TensorInfo * marker = nullptr; // NULL: only in the header
    const TensorInfo * weight = nullptr; // NULL: only for blank markers without a weight
    const char * from = "tensor";
};

// By module, as the table names it. The header wins. Throws for broken settings and for such without a
// weight.
std::map<std::string, SettingsEntry> collect_settings(const Checkpoint & checkpoint);

// The tensor `module` + `suffix`, or NULL.
const TensorInfo * part_of(const Checkpoint & checkpoint, const std::string & module,
                           std::string_view suffix);

// The table's name of a module that a header calls `name`, which may lack a prefix the tensors have; nothing
// for one without a weight.
std::optional<std::string> header_module(const Checkpoint & checkpoint, const std::string & name,
                                         Component component);

} // namespace sd
