// The text of --help: options by group, at most 100 columns.
#pragma once

#include "apps/cli/arguments.h"

#include <CLI/CLI.hpp>

#include <string>

namespace cli {

std::string help_text(const CLI::App & app);

// The same of one mode: how it is called, and the options that are for it.
std::string help_text(const CLI::App & app, Mode mode);

} // namespace cli
