// The counter-based generator Philox4x32 with ten rounds: any of its numbers at once, from counter and key.
#pragma once

#include <array>
#include <cstdint>

namespace sd {

using PhiloxBlock = std::array<uint32_t, 4>;

PhiloxBlock philox4x32(PhiloxBlock counter, uint64_t key);

// A standard normal number from the first two words at this counter. Steps are rounded as fixed below,
// whatever the platform's float functions do.
float philox_normal(const PhiloxBlock & counter, uint64_t key);

} // namespace sd
