#include "sampling/philox.h"

#include <cmath>

namespace sd {

PhiloxBlock philox4x32(PhiloxBlock c, uint64_t key) {
    auto k0 = uint32_t(key), k1 = uint32_t(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t p0 = uint64_t(c[0]) * 0xD2511F53u, p1 = uint64_t(c[2]) * 0xCD9E8D57u;
        c = {uint32_t(p1 >> 32) ^ c[1] ^ k0, uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ k1, uint32_t(p0)};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

float philox_normal(const PhiloxBlock & counter, uint64_t key) {
    constexpr float kScale = 0x1p-32f, kAngle = 0x1p-32f * 6.2831855f;
    const PhiloxBlock bits = philox4x32(counter, key);
    // Halves of a step are added, so that the logarithm never sees 0.
    const float u = float(bits[0]) * kScale + 0x1p-33f;
    const float w = float(bits[1]) * kAngle + kAngle / 2.0f;
    const auto radius = float(std::sqrt(-2.0 * std::log(double(u))));
    return float(double(radius) * std::sin(double(w)));
}

} // namespace sd
