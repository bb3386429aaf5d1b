#include "base/size_text.h"

#include <cstdio>
#include <iterator>

namespace sd {

std::string size_text(uint64_t bytes) {
    const char * units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = double(bytes);
    size_t unit = 0;
    while (value >= 1024.0 && unit + 1 < std::size(units)) {
        value /= 1024.0;
        ++unit;
    }
    char text[32];
    std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
    return text;
}

} // namespace sd
