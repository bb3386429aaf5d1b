// Prompts as people write them: emphasis by brackets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sd {

struct Fragment {
    std::string text;
    float weight;
};

// "(x)" weighs x by 1.1, "[x]" by 1 / 1.1, "(x:1.5)" by 1.5; nested ones multiply; what is not closed reaches
// to the end; a closing bracket without its opening one is text. A backslash before a bracket or a backslash
// makes it text. Neighbours of equal weight are one fragment; empty ones are left out. Takes time in
// proportion to the length, however deep brackets are.
std::vector<Fragment> parse_prompt(std::string_view prompt);

} // namespace sd
