// The JSON of a safetensors header as tensors and metadata. Every entry is checked by itself; how entries lie
// beside each other and in the file is for layout.h.
#pragma once

#include "checkpoint/tensor_info.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

struct SafetensorsHeader {
    std::vector<TensorInfo> tensors; // in the order of the header; offsets count from the end of the header
    std::map<std::string, std::string> metadata;
    std::vector<std::string> warnings;
};

// Throws Error without a file name.
SafetensorsHeader parse_safetensors_header(std::string_view json);

} // namespace sd
