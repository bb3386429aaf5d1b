#include "tests/cross/aarch64/check.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace ggml::cross {

void passed(const char * format, ...) {
    va_list args;
    va_start(args, format);
    std::printf("ok: ");
    std::vprintf(format, args);
    std::printf("\n");
    va_end(args);
}

void require(bool ok, const char * format, ...) {
    if (ok) return;
    va_list args;
    va_start(args, format);
    std::fflush(stdout);
    std::fprintf(stderr, "FAILED: ");
    std::vfprintf(stderr, format, args);
    std::fprintf(stderr, "\n");
    va_end(args);
    std::exit(1);
}

double ulps(float got, double want) {
    const double size = std::fabs(want) < 0x1p-126 ? 0x1p-149 : std::ldexp(1.0, std::ilogb(want) - 23);
    return std::fabs(double(got) - want) / size;
}

bool agrees(float got, double want, double bound) {
    const float rounded = float(want);
    if (std::isnan(rounded)) return std::isnan(got);
    if (!std::isfinite(rounded) || !std::isfinite(got)) return got == rounded;
    return ulps(got, want) <= bound;
}

bool is_close(double got, double want, double abs, double rel) {
    if (std::isnan(want)) return std::isnan(got);
    return std::fabs(got - want) <= abs + rel * std::max(std::fabs(got), std::fabs(want));
}

uint32_t Random::bits() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_ >> 8;
}

float Random::uniform(float low, float high) { return low + (high - low) * float(bits()) * 0x1p-24f; }

std::vector<float> Random::floats(int64_t n, float low, float high) {
    std::vector<float> values(static_cast<size_t>(n));
    for (float & v : values) v = uniform(low, high);
    return values;
}

std::vector<cpu::Isa> levels() {
    std::vector<cpu::Isa> all = {cpu::Isa::neon};
    if (cpu::detected_features().dotprod) all.push_back(cpu::Isa::dotprod);
    return all;
}

} // namespace ggml::cross
