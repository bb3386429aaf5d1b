// Searches for the scale (and offset) of a group of values that minimise a weighted error after rounding to a
// few codes. Deterministic: sums run in index order in float, so files are the same on every machine.
#pragma once

#include <cstdint>

namespace ggml {

// Magnitudes below this are written as zeros: their inverse scale would leave the range of float.
inline constexpr float kZeroGroup = 1e-15f;

// Candidates tried: inverse scales (top + first + step * k) / (largest value - best offset so far), k =
// 0..steps.
struct AffineSearch {
    int top; // largest code
    float first, step;
    int steps;
    bool absolute; // minimise |error| instead of its square
};

struct AffineFit {
    float scale;  // value ~ scale * code - offset
    float offset; // >= 0: zero is always inside of the range, so that zero stays representable
};

AffineFit fit_affine(const AffineSearch & search, const float * x, const float * weight, int n,
                     uint8_t * codes);

// value ~ scale * (code - half_range), codes 0 .. 2 * half_range - 1. The scale's sign follows the extreme
// value, because the negative side has one code more. Weights null: x squared. A group of zeros gives 0 and
// codes 0.
float fit_symmetric(int half_range, const float * x, const float * weight, int n, uint8_t * codes);

// The same form of result by coordinate descent: starts from the extreme value and moves single codes as long
// as that lowers the error weighted with x squared.
float refine_symmetric(int half_range, const float * x, int n, uint8_t * codes);

// Non-negative values ~ scale * code with codes 0..top.
float fit_positive(int top, const float * x, const float * weight, int n, uint8_t * codes);

} // namespace ggml
