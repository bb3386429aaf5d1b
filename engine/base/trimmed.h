#pragma once

#include <string_view>

namespace sd {

// Without spaces, tabs and ends of lines around it.
std::string_view trimmed(std::string_view text);

} // namespace sd
