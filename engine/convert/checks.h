// What is looked at before a file is made of others.
#pragma once

#include "checkpoint/checkpoint.h"
#include "checkpoint/comfy_quant/quant_module.h"

#include <string>

namespace sd {

// An Error when the output is one of the checkpoint's files, under whatever name.
void refuse_input(const Checkpoint & checkpoint, const std::string & output);

// What is odd about the files, and does no harm.
void log_warnings(const Checkpoint & checkpoint, const QuantModules & quants);

} // namespace sd
