#include "apps/cli/progress_line.h"

#include <algorithm>
#include <cstdio>

namespace cli {
namespace {

constexpr int kMebibyte = 1 << 20;

std::string pace(double per_second, Unit unit) {
    char text[64];
    if (unit == Unit::bytes)
        std::snprintf(text, sizeof(text), "%.0f MiB/s", per_second / kMebibyte);
    else if (per_second <= 1.0)
        std::snprintf(text, sizeof(text), "%.2f s/it", 1.0 / per_second);
    else
        std::snprintf(text, sizeof(text), "%.2f it/s", per_second);
    return text;
}

} // namespace

std::string duration(double seconds) {
    char text[64];
    const int64_t whole = int64_t(std::clamp(seconds, 0.0, 1e12));
    if (seconds < 100.0)
        std::snprintf(text, sizeof(text), "%.1f s", seconds);
    else if (whole < 3600)
        std::snprintf(text, sizeof(text), "%d min %02d s", int(whole / 60), int(whole % 60));
    else
        std::snprintf(text, sizeof(text), "%lld h %02d min", static_cast<long long>(whole / 3600),
                      int(whole / 60 % 60));
    return text;
}

std::string standing_text(const Standing & s) {
    const uint64_t shown = s.unit == Unit::bytes ? kMebibyte : 1;
    std::string text = std::to_string(s.done / shown) + "/" + std::to_string(s.total / shown) +
                       (s.unit == Unit::bytes ? " MiB" : "");
    if (s.done == s.total) return text + ", " + duration(s.seconds);
    if (s.done == 0 || s.seconds <= 0.0) return text;
    const double each = s.seconds / double(s.done);
    return text + ", " + pace(1.0 / each, s.unit) + ", " + duration(each * double(s.total - s.done)) +
           " left";
}

std::string progress_line(const Standing & s, int width) {
    constexpr int kLongest = 40, kShortest = 8;
    const std::string text = standing_text(s);
    const int bar = std::min(kLongest, width - int(s.what.size() + text.size()) - 4); // " |" and "| "
    if (bar < kShortest) return (s.what + " " + text).substr(0, size_t(std::max(width, 0)));
    const double part = s.total > 0 ? double(s.done) / double(s.total) : 0.0;
    std::string drawn(size_t(std::clamp(part, 0.0, 1.0) * bar), '=');
    drawn.resize(size_t(bar), ' ');
    return s.what + " |" + drawn + "| " + text;
}

} // namespace cli
