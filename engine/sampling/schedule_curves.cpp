// Schedules that are curves from the largest to the smallest noise level.

#include "sampling/schedulers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sd {
namespace {

// Curves are written for models whose smallest level may be 0.
float floored_min(const Flow & flow) { return std::max(flow.sigma_min(), 1e-6f); }

// Float functions of the platform differ in the last bit; these do not.
float rounded_pow(float base, float exponent) { return float(std::pow(double(base), double(exponent))); }
float rounded_log(float x) { return float(std::log(double(x))); }

// Level j of n by `curve`, whose argument runs from 0 to 1; 0 behind the last. One step starts at the top.
template <class Curve>
Sigmas of_curve(const ScheduleRequest & request, Curve curve) {
    const int n = request.steps;
    if (n == 1) return {request.flow.sigma_max(), 0.0f};
    Sigmas sigmas;
    for (int j = 0; j < n; ++j) sigmas.push_back(curve(j, n - 1));
    sigmas.push_back(0.0f);
    return sigmas;
}

// One of the two arcs of bong_tangent: `length` levels from start to end.
std::vector<double> arc(int length, int pivot, double slope, double start, double end) {
    const auto f = [&](int x) {
        return (2.0 / std::numbers::pi * std::atan(-slope * double(x - pivot)) + 1.0) / 2.0;
    };
    const double first = f(0), last = f(length - 1);
    std::vector<double> levels;
    for (int x = 0; x < length; ++x) {
        const bool flat = std::fabs(first - last) < 1e-8;
        const double linear = length > 1 ? 1.0 - double(x) / double(length - 1) : 1.0;
        levels.push_back((flat ? linear : (f(x) - last) / (first - last)) * (start - end) + end);
    }
    return levels;
}

} // namespace

Sigmas schedule_karras(const ScheduleRequest & request) {
    constexpr float kRho = 7.0f;
    const float top = rounded_pow(request.flow.sigma_max(), 1.0f / kRho);
    const float bottom = rounded_pow(floored_min(request.flow), 1.0f / kRho);
    return of_curve(request, [&](int j, int last) {
        return rounded_pow(top + float(j) / float(last) * (bottom - top), kRho);
    });
}

Sigmas schedule_exponential(const ScheduleRequest & request) {
    const float top = rounded_log(request.flow.sigma_max()), bottom = rounded_log(floored_min(request.flow));
    return of_curve(request, [&](int j, int last) {
        const float step = (top - bottom) / float(last);
        return float(std::exp(double(top - float(j) * step)));
    });
}

Sigmas schedule_kl_optimal(const ScheduleRequest & request) {
    const double top = std::atan(double(request.flow.sigma_max()));
    const double bottom = std::atan(double(floored_min(request.flow)));
    return of_curve(request, [&](int j, int last) {
        const double t = double(j) / double(last);
        return float(std::tan(t * bottom + (1.0 - t) * top));
    });
}

Sigmas schedule_bong_tangent(const ScheduleRequest & request) {
    // One step would start at the middle, with half of the noise.
    if (request.steps == 1) return {request.flow.sigma_max(), 0.0f};
    const double top = double(request.flow.sigma_max()), bottom = double(request.flow.sigma_min());
    const double middle = bottom + (top - bottom) / 2.0;
    const int levels = request.steps + 2, upper = int(double(levels) * 0.6);
    const double slope = 0.2 / (double(levels) / 40.0);
    Sigmas sigmas;
    for (const double level : arc(upper, upper, slope, top, middle)) sigmas.push_back(float(level));
    sigmas.pop_back(); // the lower arc begins with it
    for (const double level : arc(levels - upper, 0, slope, middle, bottom)) sigmas.push_back(float(level));
    sigmas.back() = 0.0f;
    return sigmas;
}

} // namespace sd
