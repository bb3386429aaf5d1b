// Character sets of the texts in picture files and on the command line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cli {

// Where the first byte is that belongs to no UTF-8 character (overlong forms and surrogates are none); npos:
// nowhere.
size_t invalid_utf8(std::string_view text);

// UTF-8 as Latin-1; nothing when a character is not in it.
std::optional<std::string> to_latin1(std::string_view utf8);
std::string from_latin1(std::string_view latin1);

// What a file says, as UTF-8: programs write UTF-8 where the format asks for Latin-1.
std::string to_utf8(std::string_view bytes);

// For terminals: control characters other than line ends and tabs become \xNN.
std::string printable(std::string_view utf8);

} // namespace cli
