// Guidance by the prompt: how the model's answers with and without it become one.
#pragma once

#include "sampling/key_values.h"

#include <cstddef>
#include <vector>

namespace sd {

// out = uncond + scale (cond - uncond), n values each. Velocities and estimates alike. out may be an input.
void combine_cfg(const float * cond, const float * uncond, float scale, size_t n, float * out);

// "5.5x10+1x10": scales with counts, a count of 1 may be left out. Throws Error.
std::vector<float> parse_guidance_schedule(std::string_view text);

// The guidance of one run. Keeps the momentum between evaluations: one object per picture, or restart().
class Guidance {
  public:
    // steps: how many are run; a guidance_schedule must reach that far. Throws Error, also for scales that
    // are negative or no numbers.
    Guidance(float scale, int steps, const KeyValues & extra);

    // Of a step as evaluations number it: counted from 1, of either sign.
    float scale(int step) const;

    // Whether the model must be asked without the prompt: in this step, in any step.
    bool needs_uncond(int step) const { return scale(step) != 1.0f; }
    bool ever_needs_uncond() const;

    // Only where needs_uncond. out may be an input.
    void combine(int step, const float * cond, const float * uncond, size_t n, float * out);

    void restart() { momentum_.clear(); }

  private:
    void project(float scale, const float * cond, const float * uncond, size_t n, float * out);

    float scale_;
    std::vector<float> schedule_; // empty: scale_ in all steps
    double apg_eta_, apg_momentum_, apg_threshold_, apg_smoothing_;
    bool apg_;
    std::vector<float> momentum_, delta_;
};

} // namespace sd
