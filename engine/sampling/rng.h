// Sources of noise. The same seed gives the same numbers on every platform ("std_default" excepted), so that
// pictures can be made again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sd {

enum class RngKind { cuda, cpu, std_default };

// Used by one thread at a time.
class Rng {
  public:
    virtual ~Rng() = default;

    // Starts again; forgets everything drawn before.
    virtual void seed(uint64_t seed) = 0;

    // n standard normal numbers, n < 2^32. One call of 2n is not the same as two calls of n: how many numbers
    // a call asks for is part of what is reproduced.
    virtual void normal(float * out, size_t n) = 0;
};

// Seeded with 0.
// cuda: Philox4x32-10; call number c after seeding has the counter (c, 0, element, 0).
// cpu: MT19937 of the seed's lower 32 bits; fewer than 16 numbers are drawn singly in double precision.
// std_default: the C++ library's own; differs between libraries.
std::unique_ptr<Rng> make_rng(RngKind kind);

const char * rng_name(RngKind kind);
RngKind find_rng(std::string_view name); // throws Error naming the usable ones
std::vector<std::string> rng_names();

} // namespace sd
