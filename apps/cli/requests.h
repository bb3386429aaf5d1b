// What the command line asks of the engine, as the engine's parameters. They borrow the texts.
#pragma once

#include "apps/cli/arguments.h"
#include "apps/cli/inputs.h"
#include "stable-diffusion.h"

namespace cli {

// Of several requests with a seed below 0, one is drawn for all, so that their pictures can be compared.
void draw_seed(Arguments & a);

sd_ctx_params_t context_params_of(const Arguments & a);
sd_img_gen_params_t params_of(const Arguments & a, Inputs & in, const Prompt & prompt);

} // namespace cli
