// What a caller gives about files, as the engine takes it.
#pragma once

#include "adapters/adapter.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"
#include "stable-diffusion.h"

#include <vector>

namespace sd {

ModelPaths paths_of(const sd_model_files_t & files);

// An Error for those that cannot be. loras: NULL or `count` of them.
std::vector<AdapterUse> adapter_uses(const sd_lora_t * loras, uint32_t count);

QuantOptions quant_options(const sd_load_params_t & params);

} // namespace sd
