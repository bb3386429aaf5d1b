// From the file names a caller gives to an opened checkpoint.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"
#include "stable-diffusion.h"

namespace sd {

// Throws Error when none is given, or one cannot be read.
Checkpoint open_checkpoint(const sd_model_files_t & files);

QuantOptions quant_options(const sd_load_params_t & params);

} // namespace sd
