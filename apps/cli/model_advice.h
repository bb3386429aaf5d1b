// Settings a model's file advises, for those the user gave none of.
#pragma once

#include "apps/cli/arguments.h"
#include "apps/cli/inputs.h"
#include "stable-diffusion.h"

#include <string>

namespace cli {

// Puts them into both, and returns what to say about it: one line, or "" when nothing was taken.
std::string take_advice(const sd_model_advice_t & advice, Arguments & arguments, Inputs & inputs);

} // namespace cli
