// Levels of asym_w4a8_int8 layers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace sd {

using Codebook = std::array<float, 16>; // ascending

// The sixteen levels with the least squared error (Lloyd's conditions, to six digits) for what most rotated
// weights are: normal numbers in runs of sixteen, divided by the largest magnitude of their run.
constexpr Codebook kGaussianLevels = {-0.981342f, -0.798623f, -0.644071f, -0.507985f, -0.384427f, -0.269218f,
                                      -0.159497f, -0.052803f, 0.052803f,  0.159497f,  0.269218f,  0.384427f,
                                      0.507985f,  0.644071f,  0.798623f,  0.981342f};

// How the values of a layer lie when each run of sixteen is divided by its largest magnitude. Counts are
// whole numbers: the order in which parts of a layer are added changes nothing.
class RunHistogram {
  public:
    RunHistogram();
    void add(const float * rotated, int64_t k); // k a multiple of sixteen, finite
    void add(const RunHistogram & other);

    // Beyond that of normal numbers, whose runs have about -0.5. 0 for nothing.
    double excess_kurtosis() const;
    // So heavy are the tails of a layer that is worth levels of its own, as other writers of the format see
    // it.
    bool is_heavy_tailed() const;
    // Levels with the least squared error that Lloyd's iteration finds from the Gaussian ones.
    Codebook fitted() const;

  private:
    std::vector<int64_t> counts_;
};

} // namespace sd
