// Prompts of a file, one in each line.
#pragma once

#include <string>
#include <vector>

namespace cli {

// Empty lines mean nothing; blanks at the ends are taken off. False with one line in `error`: for files that
// are no text, and without prompts, or with more than a sheet of pictures can hold.
bool read_prompts(const std::string & path, std::vector<std::string> & prompts, std::string & error);

} // namespace cli
