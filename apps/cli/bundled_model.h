// The small model that comes with the program, for those who have not downloaded one.
#pragma once

#include "apps/cli/arguments.h"

#include <filesystem>
#include <optional>
#include <string>

namespace cli {

struct BundledModel {
    std::string diffusion_model, llm, vae;
};

// Where the files can be for a program in this folder: beside it in demo/, or in the share folder of the tree
// it is installed (or built) in. Nothing unless all are there.
std::optional<BundledModel> find_bundled_model(const std::filesystem::path & folder_of_program);

// With no model on the command line, puts the bundled one into `arguments` and returns the line that says so;
// "" when models are given, or none comes with this program.
std::string use_bundled_model(Arguments & arguments);

} // namespace cli
