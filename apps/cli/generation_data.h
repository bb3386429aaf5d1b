// What a picture was made with, as the text that is kept in its file: three kinds of lines that people and
// other programs read (prompt, negative prompt, settings), and at the end everything as JSON after "SDCPP: ".
#pragma once

#include "apps/cli/arguments.h"
#include "apps/cli/lora_tags.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

// What the arguments alone do not say.
struct Generation {
    std::string prompt, negative_prompt; // from wherever they came
    int width, height;                   // as asked for
    std::string sampler, scheduler;      // the names that were used
    std::string given_prompt;            // with the tags of its adapters, if it has any
    std::vector<Lora> loras;
};

// seed: of this picture. Valid UTF-8 when the prompts are.
std::string generation_text(const Arguments & arguments, const Generation & generation, int64_t seed);

// The JSON in such a text, on one line as it stands there; "": it has none, or what is there is no JSON.
std::string json_of(const std::string & text);

} // namespace cli
