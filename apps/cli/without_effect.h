// Options that were given and change nothing: each is said, none is refused.
#pragma once

#include "apps/cli/arguments.h"

#include <string>
#include <vector>

namespace cli {

// A line for each, in the order of their names.
std::vector<std::string> without_effect(const Arguments & arguments);

} // namespace cli
