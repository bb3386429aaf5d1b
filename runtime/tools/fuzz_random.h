// Random numbers that are the same everywhere: a seed reproduces a graph on any machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace ggml::tools {

// SplitMix64 (Steele, Lea, Flood 2014): any seed will do, so that seeds can be derived from seeds.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    size_t below(size_t n) { return n == 0 ? 0 : size_t(next() % n); }
    bool one_in(size_t n) { return below(n) == 0; }
    float between(float low, float high) { return low + (high - low) * (float(next() >> 40) / 16777216.0f); }

    template <class Container>
    auto & pick(Container & from) {
        return std::begin(from)[below(std::size(from))];
    }

  private:
    uint64_t state_;
};

// A seed of its own for part `number` of whatever `seed` stands for.
inline uint64_t seed_of_part(uint64_t seed, uint64_t number) {
    return Random(seed ^ (number + 1) * 0xd1342543de82ef95u).next();
}

} // namespace ggml::tools
