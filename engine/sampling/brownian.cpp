#include "sampling/brownian.h"

#include "sampling/philox.h"

#include <cmath>

namespace sd {
namespace {

constexpr int kHalvings = 20;

// Counters of pictures have 0 in the second word; these have not, whatever their key.
double normal_at(uint64_t seed, uint32_t element, uint32_t node) {
    return double(philox_normal({node, 1, element, 0}, seed));
}

} // namespace

double brownian_path(uint64_t seed, uint32_t element, double level) {
    double low = 0.0, high = 1.0, at_low = 0.0, at_high = normal_at(seed, element, 0);
    if (level >= high) return at_high;
    uint32_t node = 1; // places of the tree, numbered as in a heap
    for (int i = 0; i < kHalvings && level > low; ++i) {
        // Between two known ends the middle is normal around their mean, with a quarter of the length as
        // variance.
        const double middle = (low + high) / 2.0;
        const double at_middle =
            (at_low + at_high) / 2.0 + std::sqrt((high - low) / 4.0) * normal_at(seed, element, node);
        const bool upper = level >= middle;
        (upper ? low : high) = middle;
        (upper ? at_low : at_high) = at_middle;
        node = 2 * node + (upper ? 1 : 0);
    }
    return at_low + (at_high - at_low) * (level - low) / (high - low);
}

BrownianNoise::BrownianNoise(uint64_t seed, size_t n, float level) : seed_(seed), level_(level), path_(n) {
    for (size_t k = 0; k < n; ++k) path_[k] = brownian_path(seed, uint32_t(k), double(level));
}

void BrownianNoise::step_to(float level, float * out) {
    const double scale = 1.0 / std::sqrt(double(level_) - double(level));
    for (size_t k = 0; k < path_.size(); ++k) {
        const double next = brownian_path(seed_, uint32_t(k), double(level));
        out[k] = float((path_[k] - next) * scale);
        path_[k] = next;
    }
    level_ = level;
}

} // namespace sd
