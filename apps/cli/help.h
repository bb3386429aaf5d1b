// The text of --help: options by group, at most 100 columns.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace cli {

std::string help_text(const CLI::App & app);

} // namespace cli
