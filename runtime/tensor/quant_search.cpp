#include "runtime/tensor/quant_search.h"

#include "runtime/tensor/rounding.h"

#include <algorithm>
#include <cmath>

namespace ggml {
namespace {

constexpr int kMaxGroup = 32;
constexpr int kMaxSweeps = 5;

struct Range {
    float low = 0.0f; // never above zero
    float high;
    float sum_w = 0.0f;
    float sum_wx = 0.0f;
};

Range measure(const float * x, const float * weight, int n) {
    Range r;
    r.low = x[0];
    r.high = x[0];
    for (int i = 0; i < n; ++i) {
        r.low = std::min(r.low, x[i]);
        r.high = std::max(r.high, x[i]);
        r.sum_w += weight[i];
        r.sum_wx += weight[i] * x[i];
    }
    r.low = std::min(r.low, 0.0f);
    return r;
}

float affine_error(bool absolute, const float * x, const float * weight, int n, const uint8_t * codes,
                   float scale, float low) {
    float error = 0.0f;
    for (int i = 0; i < n; ++i) {
        const float diff = scale * float(codes[i]) + low - x[i];
        error += weight[i] * (absolute ? std::fabs(diff) : diff * diff);
    }
    return error;
}

void affine_codes(float inverse, float low, int top, const float * x, int n, uint8_t * codes) {
    for (int i = 0; i < n; ++i) codes[i] = uint8_t(nearest_code(inverse * (x[i] - low), 0, top));
}

struct Line {
    float scale, low;
};

// Weighted least squares of x over the codes. False when the codes do not span a line.
bool solve_line(const Range & r, const float * x, const float * weight, int n, const uint8_t * codes,
                Line & line) {
    float sum_c = 0.0f, sum_cc = 0.0f, sum_cx = 0.0f;
    for (int i = 0; i < n; ++i) {
        const float c = float(codes[i]);
        const float wc = weight[i] * c;
        sum_c += wc;
        sum_cc += wc * c;
        sum_cx += wc * x[i];
    }
    const float determinant = r.sum_w * sum_cc - sum_c * sum_c;
    if (!(determinant > 0.0f)) return false;
    line.scale = (r.sum_w * sum_cx - r.sum_wx * sum_c) / determinant;
    line.low = (sum_cc * r.sum_wx - sum_c * sum_cx) / determinant;
    if (line.low > 0.0f) line = {sum_cx / sum_cc, 0.0f};
    return true;
}

// Sums that decide how good a set of symmetric codes is: the best scale is xc/cc and it removes xc*xc/cc of
// error.
struct Projection {
    float xc = 0.0f;
    float cc = 0.0f;

    void add(float w, float x, float code) {
        xc += w * x * code;
        cc += w * code * code;
    }
    Projection without(float w, float x, float code) const {
        return {xc - w * x * code, cc - w * code * code};
    }
    bool better_than(const Projection & other) const { return xc * xc * other.cc > other.xc * other.xc * cc; }
    float scale() const { return cc > 0.0f ? xc / cc : 0.0f; }
};

Projection project(float inverse, int half_range, const float * x, const float * weight, int n) {
    Projection p;
    for (int i = 0; i < n; ++i) {
        const float code = float(nearest_code(inverse * x[i], -half_range, half_range - 1));
        p.add(weight ? weight[i] : x[i] * x[i], x[i], code);
    }
    return p;
}

void symmetric_codes(float inverse, int half_range, const float * x, int n, uint8_t * codes) {
    for (int i = 0; i < n; ++i) {
        codes[i] = uint8_t(nearest_code(inverse * x[i], -half_range, half_range - 1) + half_range);
    }
}

} // namespace

AffineFit fit_affine(const AffineSearch & search, const float * x, const float * weight, int n,
                     uint8_t * codes) {
    const Range range = measure(x, weight, n);
    if (range.high <= range.low) {
        std::fill(codes, codes + n, uint8_t(0));
        return {0.0f, -range.low};
    }
    const float plain_inverse = float(search.top) / (range.high - range.low);
    Line best = {1.0f / plain_inverse, range.low};
    affine_codes(plain_inverse, range.low, search.top, x, n, codes);
    float best_error = affine_error(search.absolute, x, weight, n, codes, best.scale, best.low);

    uint8_t candidate[kMaxGroup];
    for (int k = 0; k <= search.steps; ++k) {
        // Measured from the best offset so far: a better one moves the candidates that follow.
        const float width = range.high - best.low;
        const float inverse = (search.first + search.step * float(k) + float(search.top)) / width;
        affine_codes(inverse, best.low, search.top, x, n, candidate);
        Line line;
        if (!solve_line(range, x, weight, n, candidate, line)) continue;
        const float error = affine_error(search.absolute, x, weight, n, candidate, line.scale, line.low);
        if (error < best_error) {
            best_error = error;
            best = line;
            std::copy(candidate, candidate + n, codes);
        }
    }
    return {best.scale, -best.low};
}

float fit_symmetric(int half_range, const float * x, const float * weight, int n, uint8_t * codes) {
    const float extreme = signed_extreme(x, n);
    if (std::fabs(extreme) < kZeroGroup) {
        std::fill(codes, codes + n, uint8_t(0));
        return 0.0f;
    }
    float best_inverse = -float(half_range) / extreme;
    Projection p = project(best_inverse, half_range, x, weight, n);
    float scale = p.cc != 0.0f ? p.xc / p.cc : 0.0f;
    float best = scale * p.xc;
    for (int k = -9; k <= 9; ++k) {
        if (k == 0) continue;
        const float inverse = -(float(half_range) + 0.1f * float(k)) / extreme;
        p = project(inverse, half_range, x, weight, n);
        if (p.cc > 0.0f && p.xc * p.xc > best * p.cc) {
            best_inverse = inverse;
            scale = p.xc / p.cc;
            best = scale * p.xc;
        }
    }
    symmetric_codes(best_inverse, half_range, x, n, codes);
    return scale;
}

float refine_symmetric(int half_range, const float * x, int n, uint8_t * codes) {
    const float extreme = signed_extreme(x, n);
    if (std::fabs(extreme) < kZeroGroup) {
        std::fill(codes, codes + n, uint8_t(0));
        return 0.0f;
    }
    symmetric_codes(-float(half_range) / extreme, half_range, x, n, codes);
    Projection total;
    for (int i = 0; i < n; ++i) total.add(x[i] * x[i], x[i], float(codes[i] - half_range));

    bool changed = true;
    for (int sweep = 0; sweep < kMaxSweeps && changed; ++sweep) {
        changed = false;
        for (int i = 0; i < n; ++i) {
            const float w = x[i] * x[i];
            Projection moved = total.without(w, x[i], float(codes[i] - half_range));
            if (!(moved.xc > 0.0f)) continue;
            const int code = nearest_code(x[i] * moved.cc / moved.xc, -half_range, half_range - 1);
            if (code + half_range == codes[i]) continue;
            moved.add(w, x[i], float(code));
            if (moved.cc > 0.0f && moved.better_than(total)) {
                codes[i] = uint8_t(code + half_range);
                total = moved;
                changed = true;
            }
        }
    }
    return total.scale();
}

namespace {

// Best of a few inverse scales around top / largest, by weighted squared error at that very scale.
float best_positive_inverse(int top, float largest, const float * x, const float * weight, int n) {
    float best_inverse = float(top) / largest;
    float best_error = 0.0f;
    const auto error_at = [&](float inverse) {
        const float scale = 1.0f / inverse;
        float error = 0.0f;
        for (int i = 0; i < n; ++i) {
            const float diff = x[i] - scale * float(nearest_code(inverse * x[i], 0, top));
            error += weight[i] * diff * diff;
        }
        return error;
    };
    best_error = error_at(best_inverse);
    for (int k = -4; k <= 4; ++k) {
        if (k == 0) continue;
        const float inverse = (0.1f * float(k) + float(top)) / largest;
        const float error = error_at(inverse);
        if (error < best_error) {
            best_error = error;
            best_inverse = inverse;
        }
    }
    return best_inverse;
}

} // namespace

float fit_positive(int top, const float * x, const float * weight, int n, uint8_t * codes) {
    const float largest = std::max(0.0f, *std::max_element(x, x + n));
    if (!(largest >= kZeroGroup)) {
        std::fill(codes, codes + n, uint8_t(0));
        return 0.0f;
    }
    const float inverse = best_positive_inverse(top, largest, x, weight, n);
    Projection total;
    for (int i = 0; i < n; ++i) {
        codes[i] = uint8_t(nearest_code(inverse * x[i], 0, top));
        total.add(weight[i], x[i], float(codes[i]));
    }
    bool changed = true;
    for (int sweep = 0; sweep < kMaxSweeps && changed; ++sweep) {
        changed = false;
        for (int i = 0; i < n; ++i) {
            Projection moved = total.without(weight[i], x[i], float(codes[i]));
            if (!(moved.xc > 0.0f && moved.cc > 0.0f)) continue;
            const int code = nearest_code(x[i] * moved.cc / moved.xc, 0, top);
            if (code == codes[i]) continue;
            moved.add(weight[i], x[i], float(code));
            if (moved.better_than(total)) {
                codes[i] = uint8_t(code);
                total = moved;
                changed = true;
            }
        }
    }
    return total.scale();
}

} // namespace ggml
