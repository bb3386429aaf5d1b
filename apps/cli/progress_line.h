// How far long work is, as text.
#pragma once

#include <cstdint>
#include <string>

namespace cli {

enum class Unit { steps, bytes };

struct Standing {
    std::string what;
    uint64_t done, total;
    double seconds; // since it began
    Unit unit;
};

// "12.3 s", "4 min 05 s", "2 h 05 min"
std::string duration(double seconds);

// "3/8, 1.20 it/s, 4.2 s left"; when all is done "8/8, 6.7 s".
std::string standing_text(const Standing & s);

// "sampling |====    | 3/8, …" of at most `width` columns: with less room the bar becomes shorter, then goes,
// then the end of the text goes.
std::string progress_line(const Standing & s, int width);

} // namespace cli
