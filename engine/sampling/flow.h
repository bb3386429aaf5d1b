// Rectified flow: noise level sigma in [0, 1] mixes picture and noise as (1 - sigma) picture + sigma noise.
#pragma once

#include <cstdint>

namespace sd {

constexpr float kDefaultFlowShift = 1.15f;

// The noise level of each place of the training schedule, indices 0 to 999.
class Flow {
  public:
    // shift: the exponent mu. Throws Error when it is no number, or so large that levels coincide.
    explicit Flow(float shift = kDefaultFlowShift);

    float shift() const { return shift_; }

    // e^mu / (e^mu + (1/u - 1)) with u = (index + 1)/1000; indices between whole ones are allowed. Each
    // operation is rounded to float, which reproduces recorded schedules to the bit.
    float sigma(float index) const;

    float sigma_min() const { return sigma(0.0f); }
    float sigma_max() const { return sigma(999.0f); }

  private:
    float shift_, exponential_;
};

// The shift that grows with the size of the picture, as non-distilled models were trained: 0.5 at 256 tokens
// to 1.15 at 6400, linear and continued beyond. A token covers 16 x 16 pixels.
float flow_shift_for_tokens(int64_t tokens);

} // namespace sd
