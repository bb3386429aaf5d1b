// The command line.
#pragma once

#include "tools/op-bench/runner.h"

#include <optional>
#include <string>
#include <vector>

namespace op_bench {

// Arguments without the program's name. Throws Failure for what is not understood. Empty, with `help` filled:
// help was asked for.
std::optional<Settings> parse_options(std::vector<std::string> args, std::string & help);

} // namespace op_bench
