#include "checkpoint/values/codecs.h"

#include "ggml.h"
#include "kernels/cpu/e4m3.h"

#include <cmath>
#include <limits>

namespace sd {
namespace {

constexpr int kMantissaBits = 3, kBias = 7;
constexpr uint8_t kLargest = 0x7e, kNan = 0x7f;

} // namespace

float f8_e4m3_to_float(uint8_t code) { return kE4m3Values[code]; }

float f8_e5m2_to_float(uint8_t code) { return ggml_fp16_to_fp32(ggml_fp16_t(code << 8)); }

float f8_e8m0_to_float(uint8_t code) {
    return code == 0xff ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, int(code) - 127);
}

uint8_t float_to_f8_e4m3(float value) {
    const auto sign = uint8_t(std::signbit(value) ? 0x80 : 0);
    const float magnitude = std::fabs(value);
    if (std::isnan(value)) return sign | kNan;
    if (magnitude >= kE4m3Values[kLargest]) return sign | kLargest;
    // Codes are in the order of their values, so the exponent gives a code, and a count of steps from there
    // rounds. Below 2^-6 steps keep their size.
    int exponent = magnitude == 0 ? 1 - kBias : std::ilogb(magnitude);
    if (exponent < 1 - kBias) exponent = 1 - kBias;
    const float steps = std::nearbyint(std::ldexp(magnitude, kMantissaBits - exponent)); // 0 to 16
    return uint8_t(sign | (((exponent + kBias - 1) << kMantissaBits) + int(steps)));
}

} // namespace sd
