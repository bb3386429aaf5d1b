// What -M compare is asked for, beside what pictures are asked for.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace cli {

struct CompareArguments {
    std::string model, diffusion_model, llm, vae; // of the second model
};

void add_compare_options(CLI::App & app, CompareArguments & c);

} // namespace cli
