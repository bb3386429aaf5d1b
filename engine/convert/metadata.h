// What files say about themselves, carried over to a converted file.
#pragma once

#include "convert/gguf_pairs.h"
#include "convert/plan.h"

#include <map>
#include <string>

namespace sd {

// For a safetensors file: the metadata of safetensors files, with settings of quantized layers that are still
// there under their new names, and those pairs of GGUF files that are a text or a number. What is left out is
// logged.
std::map<std::string, std::string> safetensors_metadata(const Checkpoint & checkpoint,
                                                        const ConvertPlan & plan);

// For a GGUF file: the pairs of GGUF files; metadata of safetensors files as texts under "safetensors." and
// their key, which the function above takes back; and what readers of GGUF files ask for where it is missing:
// general.architecture, general.file_type, general.quantization_version.
GgufPairs gguf_pairs(const Checkpoint & checkpoint, const QuantModules & quants, const ConvertPlan & plan);

} // namespace sd
