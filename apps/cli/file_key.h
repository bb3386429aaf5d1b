// Which file a name means, whatever it is called: to find out what would be written over.
#pragma once

#include <string>

namespace cli {

// One text for each file: two names have the same one when they are links to it, or will be once folders that
// are missing are made. "" for what several may write: devices and pipes.
std::string file_key(const std::string & path);

bool same_file(const std::string & a, const std::string & b); // never with ""

} // namespace cli
