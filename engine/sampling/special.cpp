#include "sampling/special.h"

#include <cmath>
#include <limits>

namespace sd {
namespace {

// The continued fraction of the incomplete beta function, evaluated from the front by Lentz's method.
double beta_fraction(double x, double a, double b) {
    constexpr double kTiny = 1e-300; // keeps the ratios finite when a term is 0
    constexpr int kMostTerms = 500;  // about sqrt(max(a, b)) are needed
    const auto nonzero = [](double v) { return std::fabs(v) < kTiny ? kTiny : v; };
    double c = 1.0, d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)), value = d;
    for (int m = 1; m <= kMostTerms; ++m) {
        const double k = double(m), even = k * (b - k) * x / ((a + 2.0 * k - 1.0) * (a + 2.0 * k));
        d = 1.0 / nonzero(1.0 + even * d);
        c = nonzero(1.0 + even / c);
        value *= c * d;
        const double odd = -(a + k) * (a + b + k) * x / ((a + 2.0 * k) * (a + 2.0 * k + 1.0));
        d = 1.0 / nonzero(1.0 + odd * d);
        c = nonzero(1.0 + odd / c);
        value *= c * d;
        if (std::fabs(c * d - 1.0) < 1e-15) break;
    }
    return value;
}

// The share of the distribution below x.
double beta_share(double x, double a, double b) {
    if (x <= 0.0) return 0.0;
    if (x >= 1.0) return 1.0;
    // tgamma and not lgamma, which writes a global variable.
    const double full = std::tgamma(a) * std::tgamma(b) / std::tgamma(a + b);
    const double front = std::pow(x, a) * std::pow(1.0 - x, b) / full;
    // The fraction converges fast on one side of the mean only.
    if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(x, a, b) / a;
    return 1.0 - front * beta_fraction(1.0 - x, b, a) / b;
}

// Coefficients of Acklam's rational approximations, highest power first.
constexpr double kCenterTop[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                 1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
constexpr double kCenterBottom[] = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                                    6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
constexpr double kTailTop[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                               -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
constexpr double kTailBottom[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                  3.754408661907416e+00, 1.0};

template <int N>
double polynomial(const double (&coefficients)[N], double x) {
    double value = 0.0;
    for (const double c : coefficients) value = value * x + c;
    return value;
}

} // namespace

double beta_quantile(double u, double alpha, double beta) {
    if (u <= 0.0) return 0.0;
    if (u >= 1.0) return 1.0;
    // Halving needs no derivative, which is infinite at the ends for parameters below 1.
    double low = 0.0, high = 1.0;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2.0;
        const double share = beta_share(middle, alpha, beta);
        // Hit to the last digits: the middle of symmetric distributions is 0.5 and not a little less.
        if (std::fabs(share - u) < 1e-15) return middle;
        (share < u ? low : high) = middle;
    }
    return (low + high) / 2.0;
}

double normal_quantile(double p) {
    constexpr double kTail = 0.02425;
    if (p <= 0.0) return -std::numeric_limits<double>::infinity();
    if (p >= 1.0) return std::numeric_limits<double>::infinity();
    if (p > 1.0 - kTail) return -normal_quantile(1.0 - p);
    if (p < kTail) {
        const double q = std::sqrt(-2.0 * std::log(p));
        return polynomial(kTailTop, q) / polynomial(kTailBottom, q);
    }
    const double q = p - 0.5, r = q * q;
    return polynomial(kCenterTop, r) * q / polynomial(kCenterBottom, r);
}

} // namespace sd
