#include "runtime/base/json.h"

#include <cstdint>
#include <cstdio>

namespace ggml {
namespace {

// Bytes of the well-formed UTF-8 sequence at the start of the text; 0 when there is none. Overlong forms,
// surrogates and numbers beyond U+10FFFF are not well-formed.
size_t utf8_length(std::string_view text) {
    const auto byte = [text](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
    const uint8_t first = byte(0);
    if (first < 0x80) return 1;
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4) return 0;
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    const uint8_t second = byte(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
    return length;
}

void append_escaped(std::string & out, char c) {
    switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\t': out += "\\t"; return;
    default: break;
    }
    char code[8];
    std::snprintf(code, sizeof(code), "\\u%04x", unsigned(uint8_t(c)));
    out += code;
}

bool needs_escape(char c) { return uint8_t(c) < 0x20 || c == '"' || c == '\\' || c == 0x7f; }

} // namespace

void append_json_string(std::string & out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        if (length == 0) {
            out += "\xef\xbf\xbd";
        } else if (needs_escape(text[0])) {
            append_escaped(out, text[0]);
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    out += '"';
}

} // namespace ggml
