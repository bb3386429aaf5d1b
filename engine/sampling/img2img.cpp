#include "sampling/img2img.h"

#include "base/error.h"

#include <algorithm>
#include <string>

namespace sd {
namespace {

[[noreturn]] void refuse(const std::string & cause) { throw Error({"E_STRENGTH", {}, {}, cause, {}}); }

} // namespace

Sigmas cut_schedule(const Sigmas & sigmas, float strength, const KeyValues & extra) {
    check_sigmas(sigmas, "schedule");
    const bool as_level = extra.flag("strength_as_noise_level", false);
    const bool force = extra.flag("force_first_sigma", false);
    if (!(strength >= 0.0f && strength <= 1.0f))
        refuse("strength " + std::to_string(strength) + " is no number from 0 to 1");
    if (force && !as_level) refuse("force_first_sigma needs strength_as_noise_level");
    const size_t steps = sigmas.size() - 1;
    if (as_level) {
        size_t start = 0;
        while (start + 1 < steps && sigmas[start] > strength) ++start;
        Sigmas rest(sigmas.begin() + ptrdiff_t(start), sigmas.end());
        if (force) rest[0] = strength;
        check_sigmas(rest, "schedule for strength " + std::to_string(strength));
        return rest;
    }
    if (strength == 1.0f) return sigmas;
    // In floats: 10 steps at 0.7 are 7.
    const size_t more = std::min(size_t(float(steps) * strength), steps - 1);
    return Sigmas(sigmas.end() - ptrdiff_t(more) - 2, sigmas.end());
}

HiresSteps hires_steps(int steps, int hires_steps, float den) {
    const int wanted = hires_steps > 0 ? hires_steps : steps;
    if (wanted < 1 || wanted > kMostSteps)
        refuse("steps of the second pass: " + std::to_string(wanted) + " is no number from 1 to " +
               std::to_string(kMostSteps));
    if (!(den == den)) refuse("denoising strength of the second pass is no number");
    den = std::clamp(den, 0.0001f, 1.0f);
    const int all = std::max(1, int(float(wanted) / den)); // 1e8 at most
    const int more = std::min(int(float(all) * den), all - 1);
    return {all, all - more - 1};
}

void mix_noise(const float * init, const float * noise, float sigma, size_t n, float * x) {
    for (size_t k = 0; k < n; ++k)
        x[k] = init != nullptr ? (1.0f - sigma) * init[k] + sigma * noise[k] : sigma * noise[k];
}

void remove_noise_share(float sigma, size_t n, float * x) {
    if (sigma == 0.0f) return;
    for (size_t k = 0; k < n; ++k) x[k] /= 1.0f - sigma;
}

void keep_unmasked(const float * init, const float * mask, size_t pixels, size_t channels, float * denoised) {
    for (size_t c = 0; c < channels; ++c) {
        for (size_t k = 0; k < pixels; ++k) {
            const size_t at = c * pixels + k;
            // Not a product: an estimate that is no number must not reach what is kept.
            if (mask[k] == 0.0f) denoised[at] = init[at];
        }
    }
}

std::vector<float> shrink_mask(const float * mask, int64_t width, int64_t height, int64_t to_width,
                               int64_t to_height) {
    std::vector<float> cells(size_t(to_width) * size_t(to_height), 0.0f);
    // Pixels [from, to) that cell i of `of` covers, one at least.
    const auto from = [](int64_t i, int64_t of, int64_t size) { return i * size / of; };
    const auto to = [](int64_t i, int64_t of, int64_t size) { return ((i + 1) * size + of - 1) / of; };
    for (int64_t y = 0; y < to_height; ++y) {
        for (int64_t x = 0; x < to_width; ++x) {
            bool any = false;
            for (int64_t v = from(y, to_height, height); v < to(y, to_height, height); ++v)
                for (int64_t u = from(x, to_width, width); u < to(x, to_width, width); ++u)
                    any = any || mask[v * width + u] >= 0.5f;
            cells[size_t(y * to_width + x)] = any ? 1.0f : 0.0f;
        }
    }
    return cells;
}

} // namespace sd
