// Schedules that pick places of the training schedule, indices 0 to 999.

#include "sampling/schedulers.h"
#include "sampling/special.h"

#include <algorithm>
#include <cmath>

namespace sd {
namespace {

constexpr float kLast = 999.0f;

// Whole places, each once: two equal ones in a row would be a step of no length.
template <class Place>
Sigmas of_places(const ScheduleRequest & request, Place place) {
    Sigmas sigmas;
    int before = -1;
    for (int j = 0; j < request.steps; ++j) {
        const int index = std::clamp(place(j), 0, 999);
        if (index != before) sigmas.push_back(request.flow.sigma(float(index)));
        before = index;
    }
    sigmas.push_back(0.0f);
    return sigmas;
}

} // namespace

Sigmas schedule_discrete(const ScheduleRequest & request) {
    const int n = request.steps;
    const float step = n > 1 ? kLast / float(n - 1) : 0.0f;
    Sigmas sigmas;
    for (int j = 0; j < n; ++j) sigmas.push_back(request.flow.sigma(kLast - step * float(j)));
    sigmas.push_back(0.0f);
    return sigmas;
}

Sigmas schedule_sgm_uniform(const ScheduleRequest & request) {
    const float step = kLast / float(request.steps);
    Sigmas sigmas;
    for (int j = 0; j < request.steps; ++j) sigmas.push_back(request.flow.sigma(kLast - step * float(j)));
    sigmas.push_back(0.0f);
    return sigmas;
}

Sigmas schedule_simple(const ScheduleRequest & request) {
    // In floats: where steps do not divide 1000, exact arithmetic would give other places now and then.
    const float step = 1000.0f / float(request.steps);
    return of_places(request, [step](int j) { return 999 - int(float(j) * step); });
}

Sigmas schedule_smoothstep(const ScheduleRequest & request) {
    return of_places(request, [&](int j) {
        const float u = 1.0f - float(j) / float(request.steps);
        return int(std::lround(u * u * (3.0f - 2.0f * u) * kLast));
    });
}

Sigmas schedule_lcm(const ScheduleRequest & request) {
    // The 50 places, 20 apart, that consistency models are distilled at.
    return of_places(request, [&](int j) { return (50 - j * 50 / request.steps) * 20 - 1; });
}

Sigmas schedule_beta(const ScheduleRequest & request) {
    const double alpha = request.extra.number("alpha", 0.6, 0.01, 50.0);
    const double beta = request.extra.number("beta", 0.6, 0.01, 50.0);
    return of_places(request, [&](int j) {
        const double u = 1.0 - double(j) / double(request.steps);
        return int(std::lround(beta_quantile(u, alpha, beta) * 999.0));
    });
}

} // namespace sd
