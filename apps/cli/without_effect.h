// Options that were given and change nothing: each is said, none is refused.
#pragma once

#include "apps/cli/arguments.h"

#include <string>
#include <vector>

namespace cli {

// A line for each, in the order of their names.
std::vector<std::string> without_effect(const Arguments & arguments);

// Whether an option, of a group of --help, is for a mode at all.
bool has_mode(const std::string & name, const std::string & group, Mode mode);

} // namespace cli
