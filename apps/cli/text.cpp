#include "apps/cli/text.h"

#include <cstdint>
#include <cstdio>

namespace cli {
namespace {

// Bytes of the character at the start of `s` and its number; 0: there is none.
size_t character(std::string_view s, uint32_t & number) {
    const auto byte = [&](size_t i) { return i < s.size() ? uint8_t(s[i]) : uint8_t(0); };
    const uint8_t first = byte(0);
    const size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (length == 1) {
        number = first;
        return 1;
    }
    // Below 0xc2 are continuations and overlong forms.
    if (first < 0xc2 || first > 0xf4) return 0;
    number = first & (0x7f >> length);
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        number = number << 6 | (byte(i) & 0x3f);
    }
    const bool overlong = (length == 3 && number < 0x800) || (length == 4 && number < 0x10000);
    const bool surrogate = number >= 0xd800 && number < 0xe000;
    return overlong || surrogate || number > 0x10ffff ? 0 : length;
}

} // namespace

size_t invalid_utf8(std::string_view text) {
    uint32_t number = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t length = character(text.substr(at), number);
        if (length == 0) return at;
        at += length;
    }
    return std::string_view::npos;
}

std::optional<std::string> to_latin1(std::string_view utf8) {
    std::string out;
    uint32_t number = 0;
    for (size_t at = 0; at < utf8.size();) {
        const size_t length = character(utf8.substr(at), number);
        if (length == 0 || number > 0xff) return std::nullopt;
        out += char(uint8_t(number));
        at += length;
    }
    return out;
}

std::string from_latin1(std::string_view latin1) {
    std::string out;
    for (const char c : latin1) {
        const auto byte = uint8_t(c);
        if (byte < 0x80) {
            out += c;
        } else {
            out += char(0xc0 | byte >> 6);
            out += char(0x80 | (byte & 0x3f));
        }
    }
    return out;
}

std::string to_utf8(std::string_view bytes) {
    return invalid_utf8(bytes) == std::string_view::npos ? std::string(bytes) : from_latin1(bytes);
}

std::string printable(std::string_view utf8) {
    std::string out;
    uint32_t number = 0;
    for (size_t at = 0; at < utf8.size();) {
        const size_t length = character(utf8.substr(at), number);
        const bool control = length == 0 || (number < 0x20 && number != '\n' && number != '\t') ||
                             (number >= 0x7f && number < 0xa0);
        if (!control) {
            out += utf8.substr(at, length);
            at += length;
            continue;
        }
        char hex[8];
        std::snprintf(hex, sizeof(hex), "\\x%02x", unsigned(uint8_t(utf8[at])));
        out += hex;
        ++at;
        // The rest of a two-byte control character.
        if (length == 2) ++at;
    }
    return out;
}

} // namespace cli
