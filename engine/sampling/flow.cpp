#include "sampling/flow.h"

#include "base/error.h"

#include <cmath>
#include <cstdio>

namespace sd {
namespace {

// Beyond, the float levels next to 1 (or to 0) begin to coincide.
constexpr float kMostShift = 10.0f;

} // namespace

Flow::Flow(float shift) : shift_(shift), exponential_(float(std::exp(double(shift)))) {
    if (std::fabs(shift) <= kMostShift) return; // false for what is no number
    char text[64];
    std::snprintf(text, sizeof(text), "flow shift %g is no number from %g to %g", double(shift),
                  double(-kMostShift), double(kMostShift));
    throw Error({"E_FLOW_SHIFT", {}, {}, text, {}});
}

float Flow::sigma(float index) const {
    const float u = (index + 1.0f) / 1000.0f;
    const float rest = 1.0f / u - 1.0f;
    return exponential_ / (exponential_ + rest);
}

float flow_shift_for_tokens(int64_t tokens) {
    return float(0.5 + (double(tokens) - 256.0) * (1.15 - 0.5) / (6400.0 - 256.0));
}

} // namespace sd
