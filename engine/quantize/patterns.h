// Names of layers as people write them for many at once: "*" stands for any characters, "?" for one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sd {

// Of the whole text. Takes no longer than pattern times text.
bool matches(std::string_view pattern, std::string_view text);

// "a*, b": the patterns between commas, without blanks around them. `option` names the list in an Error about
// one that is empty.
std::vector<std::string> pattern_list(const std::string & option, const std::string & text);

// Without blanks at both ends.
std::string_view without_blanks(std::string_view text);

} // namespace sd
