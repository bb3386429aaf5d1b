// What somebody who mistyped a word may have meant.
#pragma once

#include <string>
#include <vector>

namespace cli {

// The known word that is nearest to this one: fewest letters inserted, left out, changed or swapped, not
// counting capitals. "": none is near enough to be meant.
std::string nearest(const std::string & word, const std::vector<std::string> & known);

// "; did you mean X?", or nothing.
std::string did_you_mean(const std::string & word, const std::vector<std::string> & known);

} // namespace cli
