// What a caller gives about files, as the engine takes it.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"
#include "stable-diffusion.h"

namespace sd {

ModelPaths paths_of(const sd_model_files_t & files);

QuantOptions quant_options(const sd_load_params_t & params);

} // namespace sd
