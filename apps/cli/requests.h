// What the command line asks of the engine, as the engine's parameters. They borrow the texts.
#pragma once

#include "apps/cli/arguments.h"
#include "apps/cli/inputs.h"
#include "stable-diffusion.h"

#include <string>

namespace cli {

sd_ctx_params_t context_params_of(const Arguments & a);
sd_img_gen_params_t params_of(const Arguments & a, Inputs & in, const Prompt & prompt);

// Files that are one file, also by way of links.
bool same_file(const std::string & a, const std::string & b);

} // namespace cli
