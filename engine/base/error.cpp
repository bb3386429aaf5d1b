#include "base/error.h"

#include <cstdint>
#include <cstdio>

namespace sd {
namespace {

// Bytes of the UTF-8 sequence at the start of s; 0: none. Overlong forms, surrogates and what lies beyond
// U+10FFFF are none.
size_t utf8_length(std::string_view s) {
    const auto byte = [&](size_t i) { return i < s.size() ? uint8_t(s[i]) : uint8_t(0); };
    const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
    const uint8_t a = byte(0), b = byte(1);
    if (a < 0x80) return 1;
    if (a >= 0xc2 && a <= 0xdf) return follows(1) ? 2 : 0;
    if (a >= 0xe0 && a <= 0xef) {
        const bool legal = !(a == 0xe0 && b < 0xa0) && !(a == 0xed && b > 0x9f);
        return legal && follows(1) && follows(2) ? 3 : 0;
    }
    if (a >= 0xf0 && a <= 0xf4) {
        const bool legal = !(a == 0xf0 && b < 0x90) && !(a == 0xf4 && b > 0x8f);
        return legal && follows(1) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

// C1 controls, U+0080 to U+009F, move cursors in some terminals.
bool is_control(std::string_view s, size_t length) {
    const auto a = uint8_t(s[0]);
    return length == 1 ? a < 0x20 || a == 0x7f : length == 2 && a == 0xc2 && uint8_t(s[1]) < 0xa0;
}

std::string line_of(const Error::Parts & parts) {
    std::string line;
    if (!parts.file.empty()) line += printable(parts.file, 400) + ": ";
    if (!parts.tensor.empty()) line += "tensor " + printable(parts.tensor) + ": ";
    line += printable(parts.cause, 600);
    if (!parts.advice.empty()) line += " (" + printable(parts.advice, 400) + ")";
    return line;
}

} // namespace

std::string printable(std::string_view text, size_t most) {
    std::string out;
    while (!text.empty()) {
        if (out.size() >= most) return out + "...";
        const size_t length = utf8_length(text);
        if (length == 0 || is_control(text, length)) {
            char hex[5];
            std::snprintf(hex, sizeof(hex), "\\x%02x", unsigned(uint8_t(text[0])));
            out += hex;
            text.remove_prefix(1);
            continue;
        }
        out += text.substr(0, length);
        text.remove_prefix(length);
    }
    return out;
}

std::string in_quotes(std::string_view text, size_t most) {
    std::string out = "\"";
    out += printable(text, most);
    return out += '"';
}

Error::Error(Parts parts) : std::runtime_error(line_of(parts)), parts_(std::move(parts)) {}

Error Error::in_file(const std::string & file) const {
    Parts parts = parts_;
    if (parts.file.empty()) parts.file = file;
    return Error(std::move(parts));
}

} // namespace sd
