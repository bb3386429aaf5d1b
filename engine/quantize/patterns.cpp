#include "quantize/patterns.h"

#include "base/error.h"

namespace sd {

bool matches(std::string_view pattern, std::string_view text) {
    // The last star and where it began to match: everything before both is settled, so only this one is ever
    // tried again.
    size_t p = 0, t = 0, star = pattern.npos, began = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            began = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
            ++p, ++t;
        } else if (star != pattern.npos) {
            p = star + 1;
            t = ++began;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

std::string_view without_blanks(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r";
    const size_t begin = text.find_first_not_of(kBlanks);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string> pattern_list(const std::string & option, const std::string & text) {
    std::vector<std::string> list;
    if (text.empty()) return list;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        list.emplace_back(without_blanks(std::string_view(text).substr(begin, end - begin)));
        if (list.back().empty())
            throw Error({"E_ARGUMENT", {}, {}, option + ": a pattern between commas is empty", {}});
        begin = end + 1;
    }
    return list;
}

} // namespace sd
