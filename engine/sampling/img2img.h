// Beginning from a picture instead of from noise: shortened schedules, mixtures, masks.
#pragma once

#include "sampling/key_values.h"
#include "sampling/schedule.h"

namespace sd {

// The part of a schedule that is run for strength 0 (the last step alone) to 1 (all steps): int(steps *
// strength) + 1 steps. So count the programs whose users bring their strengths along; none at all would also
// be no change of the picture a prompt could ask for. Extra arguments: strength_as_noise_level begins at the
// first level not above the strength, force_first_sigma in addition makes that level the strength itself.
// Throws Error.
Sigmas cut_schedule(const Sigmas & sigmas, float strength, const KeyValues & extra);

// A second pass at a larger size: a schedule of `steps` steps of which those from `start` on are run, about
// as many as were asked for. den is clamped to [0.0001, 1]. Throws Error for step counts out of range.
struct HiresSteps {
    int steps;
    int start; // index of the first noise level used
};
HiresSteps hires_steps(int steps, int hires_steps, float den); // hires_steps 0: as many as `steps`

// x = (1 - sigma) init + sigma noise; init null: sigma noise. x may be an input.
void mix_noise(const float * init, const float * noise, float sigma, size_t n, float * x);

// x / (1 - sigma): the picture's share of a latent image left at level sigma, below 1. Nothing for 0.
void remove_noise_share(float sigma, size_t n, float * x);

// denoised = init where the mask is 0. mask: [width, height] of the latent image, repeated for each channel.
void keep_unmasked(const float * init, const float * mask, size_t pixels, size_t channels, float * denoised);

// Values of 0.5 and more are 1 (make anew), the rest 0 (keep). A cell of the result is 1 if any pixel it
// covers is. mask: [width, height], x fastest; result: [to_width, to_height]. Sizes from 1 on.
std::vector<float> shrink_mask(const float * mask, int64_t width, int64_t height, int64_t to_width,
                               int64_t to_height);

} // namespace sd
