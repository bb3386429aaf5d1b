// Options that other programs for image models have and this one has not. They are known by name, so that
// nobody looks for a spelling mistake: each is refused with what it belongs to. None is ignored.
#pragma once

#include <CLI/CLI.hpp>

namespace cli {

// Not shown by --help.
void add_foreign_options(CLI::App & app);

} // namespace cli
