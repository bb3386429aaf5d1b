// Schedules that shift an even grid by amounts of their own, mostly by the size of the picture. They do not
// look at the request's flow shift.

#include "base/error.h"
#include "sampling/schedulers.h"
#include "sampling/special.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

// Pixels of the latent image. Twice as many per side as the model has tokens: these rules were published for
// models without patches, and their names stand for what they compute.
double latent_pixels(const ScheduleRequest & request) {
    return double(request.latent_width) * double(request.latent_height);
}

double known_latent_pixels(const ScheduleRequest & request) {
    if (request.latent_width > 0 && request.latent_height > 0) return latent_pixels(request);
    throw Error({"E_SCHEDULE", {}, {}, "this scheduler needs the size of the picture", {}});
}

// Level j of n of the even grid 1, 1 - 1/n, ..., shifted by mu.
double shifted(double mu, int j, int n) {
    const double x = 1.0 - double(j) / double(n);
    // e^mu / (e^mu + 1/x - 1), written without overflow for large mu
    return 1.0 / (1.0 + (1.0 / x - 1.0) * std::exp(-mu));
}

Sigmas shifted_grid(double mu, int n) {
    Sigmas sigmas;
    for (int j = 0; j < n; ++j) sigmas.push_back(float(shifted(mu, j, n)));
    sigmas.push_back(0.0f);
    return sigmas;
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

} // namespace

Sigmas schedule_ltx2(const ScheduleRequest & request) {
    const int n = request.steps;
    const double base = request.extra.number("base_shift", 0.95, -10.0, 10.0);
    const double most = request.extra.number("max_shift", 2.05, -10.0, 10.0);
    const double terminal = std::min(request.extra.number("terminal", 0.1, 0.0, 1.0), 0.99);
    const double pixels = latent_pixels(request), tokens = pixels > 0.0 ? pixels : 4096.0;
    const double slope = (most - base) / 3072.0, mu = tokens * slope + base - 1024.0 * slope;
    const bool stretch = request.extra.flag("stretch", true) && n >= 2;
    const double scale = stretch ? (1.0 - shifted(mu, n - 1, n)) / (1.0 - terminal) : 1.0;
    Sigmas sigmas;
    for (int j = 0; j < n; ++j) sigmas.push_back(float(1.0 - (1.0 - shifted(mu, j, n)) / scale));
    // A terminal level of 0 is the end already.
    if (sigmas.back() > 0.0f) sigmas.push_back(0.0f);
    return sigmas;
}

Sigmas schedule_flux(const ScheduleRequest & request) {
    const double base = request.extra.number("base_shift", 0.5, -10.0, 10.0);
    const double most = request.extra.number("max_shift", 1.15, -10.0, 10.0);
    const double mu = base + (known_latent_pixels(request) - 256.0) * (most - base) / (4096.0 - 256.0);
    return shifted_grid(mu, request.steps);
}

Sigmas schedule_flux2(const ScheduleRequest & request) {
    // Two straight lines fitted at 10 and at 200 steps; between them by the number of steps.
    const double pixels = known_latent_pixels(request);
    const double at_200 = 1.6927e-4 * pixels + 0.45666666, at_10 = 8.73809524e-5 * pixels + 1.89833333;
    if (pixels > 4300.0) return shifted_grid(at_200, request.steps);
    const double slope = (at_200 - at_10) / 190.0;
    return shifted_grid(slope * double(request.steps) + at_200 - 200.0 * slope, request.steps);
}

Sigmas schedule_logit_normal(const ScheduleRequest & request) {
    const KeyValues & extra = request.extra;
    double mean = extra.number("logit_mean", 0.0, -20.0, 20.0);
    const double deviation = extra.number("logit_std", 1.75, 0.01, 20.0);
    const double least = extra.number("logsnr_min", -15.0, -60.0, 60.0);
    const double most = extra.number("logsnr_max", 18.0, -60.0, 60.0);
    const double pixels = latent_pixels(request);
    if (extra.flag("resolution_aware", false) && pixels > 0.0) mean += 0.5 * std::log(pixels / 1024.0);
    const double lowest = sigmoid(least / 2.0), highest = sigmoid(most / 2.0);
    Sigmas sigmas;
    for (int j = 0; j < request.steps; ++j) {
        const double z = -normal_quantile(double(j) / double(request.steps)); // infinite for j = 0
        sigmas.push_back(float(std::min(std::max(sigmoid(mean + deviation * z), lowest), highest)));
    }
    sigmas.push_back(0.0f);
    return sigmas;
}

} // namespace sd
