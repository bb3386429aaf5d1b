// Everything a generation reads from files of the user, and what follows from it.
#pragma once

#include "apps/cli/arguments.h"
#include "apps/cli/image/image.h"
#include "apps/cli/lora_tags.h"
#include "stable-diffusion.h"

#include <string>
#include <vector>

namespace cli {

struct Prompt {
    std::string text;  // without the tags of adapters
    std::string given; // with them
    std::vector<Lora> loras;
};

struct Inputs {
    std::vector<Prompt> prompts = {Prompt()}; // at least one
    std::string negative_prompt;
    std::vector<sd_lora_t> lora_params; // of one prompt, for the engine; see params_of
    Image init, mask;                   // empty: none; 3 channels and 1, of this size:
    int width = 512, height = 512;
};

// False with one line in `error`.
bool load_inputs(const Arguments & arguments, Inputs & inputs, std::string & error);

// Every file on the command line that such a generation reads, over which nothing is written.
std::vector<std::string> files_read(const Arguments & arguments, const Inputs & inputs);

} // namespace cli
