#include "runtime/ext/registry/name.h"

#include "runtime/ext/verdict/verdict.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ggml::ext {
namespace {

// Not <cctype>: names mean the same in every locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_character(char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_'; }

bool is_version(std::string_view segment) {
    return segment.size() >= 2 && segment[0] == 'v' && segment[1] != '0' &&
           std::all_of(segment.begin() + 1, segment.end(), is_digit);
}

struct Segments {
    const char * problem = nullptr;
    int count = 0;
    std::string_view last = {};
};

Segments split(const char * name) {
    const size_t length = strnlen(name, size_t(kMaxNameLength) + 1);
    if (length > size_t(kMaxNameLength)) return {"it has more than 127 characters"};
    std::string_view rest(name, length);
    Segments segments;
    for (bool more = true; more; ++segments.count) {
        const size_t dot = rest.find('.');
        segments.last = rest.substr(0, dot);
        if (segments.last.empty()) return {"a word between dots is empty"};
        if (!std::all_of(segments.last.begin(), segments.last.end(), is_word_character)) {
            return {"only a-z, 0-9, _ and dots are possible"};
        }
        more = dot != std::string_view::npos;
        if (more) rest.remove_prefix(dot + 1);
    }
    return segments;
}

} // namespace

const char * kernel_name_problem(const char * name) {
    const Segments segments = split(name);
    if (segments.problem != nullptr) return segments.problem;
    return segments.count < 2 ? "a vendor and a word are needed: vendor.word" : nullptr;
}

const char * op_name_problem(const char * name) {
    const Segments segments = split(name);
    if (segments.problem != nullptr) return segments.problem;
    return segments.count < 3 || !is_version(segments.last)
               ? "a vendor, a word and a version are needed: vendor.word.v1"
               : nullptr;
}

ggml_ext_status refuse_name(const char * what, const char * name, const char * problem) {
    return answer(GGML_EXT_INVALID, GGML_EXT_REASON_NAME_MALFORMED, "%s name '%.*s': %s", what,
                  kMaxNameLength, name, problem);
}

} // namespace ggml::ext
