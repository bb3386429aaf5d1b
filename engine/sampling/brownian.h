// Paths of Brownian motion over noise levels 0 to 1, one for each value of a latent image. A path depends on
// its seed alone: schedules with more or fewer steps look at the same path in more or fewer places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sd {

// The level at which the path of element `element` is asked for is rounded to 2^-20, with straight lines
// between. Nothing is stored: each place is found by halving from the ends.
double brownian_path(uint64_t seed, uint32_t element, double level);

// Increments of the paths as noise of variance 1. Steps must follow each other: the level a step begins at is
// where the one before ended.
class BrownianNoise {
  public:
    BrownianNoise(uint64_t seed, size_t n, float level);

    // out: n values, (path at the last level - path at `level`) / sqrt(difference of the levels)
    void step_to(float level, float * out);

  private:
    uint64_t seed_;
    float level_;
    std::vector<double> path_; // at level_
};

} // namespace sd
