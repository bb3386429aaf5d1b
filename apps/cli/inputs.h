// Everything a generation reads from files of the user, and what follows from it.
#pragma once

#include "apps/cli/arguments.h"
#include "apps/cli/image/image.h"

#include <string>

namespace cli {

struct Inputs {
    std::string prompt, negative_prompt;
    Image init, mask; // empty: none; 3 channels and 1, of this size:
    int width = 512, height = 512;
};

// False with one line in `error`.
bool load_inputs(const Arguments & arguments, Inputs & inputs, std::string & error);

} // namespace cli
