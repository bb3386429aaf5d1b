// Adapters in prompts: <lora:NAME:STRENGTH>.
#pragma once

#include <string>
#include <vector>

namespace cli {

struct Lora {
    std::string path;
    float strength;
};

// Takes the tags out of a prompt, and nothing else: blanks around them stay. NAME is a file of the folder, or
// of a folder in it, with or without its ending; absolute paths are used as they are. False with one line in
// `error`: tags that are not whole, files that are not there, names that lead out of the folder.
bool take_lora_tags(const std::string & folder, std::string & prompt, std::vector<Lora> & loras,
                    std::string & error);

} // namespace cli
