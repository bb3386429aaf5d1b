#include "apps/cli/output_name.h"

#include "apps/cli/image/image_file.h"

#include <algorithm>
#include <cstdio>

namespace cli {
namespace {

// The number's place in the pattern: "%d" or "%0<width>d" at `at`; 0: none.
size_t number_length(const std::string & s, size_t at, int & width) {
    size_t end = at + 1;
    width = 0;
    while (end < s.size() && s[end] >= '0' && s[end] <= '9' && end - at < 4)
        width = width * 10 + (s[end++] - '0');
    return end < s.size() && s[end] == 'd' ? end + 1 - at : 0;
}

std::string padded(int number, int width) {
    std::string digits = std::to_string(number);
    return std::string(size_t(std::max(0, width - int(digits.size()))), '0') + digits;
}

} // namespace

std::string output_name(const std::string & pattern, int index, int count, int begin) {
    const int number = index + std::max(begin, 0);
    std::string name;
    bool numbered = false;
    for (size_t i = 0; i < pattern.size(); ++i) {
        int width = 0;
        const size_t length = pattern[i] == '%' ? number_length(pattern, i, width) : 0;
        if (pattern[i] == '%' && i + 1 < pattern.size() && pattern[i + 1] == '%') {
            name += '%';
            ++i;
        } else if (length > 0) {
            name += padded(number, width);
            i += length - 1;
            numbered = true;
        } else {
            name += pattern[i];
        }
    }
    name = with_image_ending(name);
    if (numbered || count == 1) return name;
    const size_t dot = name.rfind('.');
    return name.substr(0, dot) + "_" + std::to_string(number) + name.substr(dot);
}

} // namespace cli
