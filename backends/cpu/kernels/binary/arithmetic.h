// The four arithmetic operators on rows of floats, one rounding each.
#pragma once

#include <cstdint>

namespace ggml::cpu {

enum class Arithmetic { add, sub, mul, div };

inline float arithmetic(Arithmetic op, float a, float b) {
    switch (op) {
    case Arithmetic::add: return a + b;
    case Arithmetic::sub: return a - b;
    case Arithmetic::mul: return a * b;
    case Arithmetic::div: return a / b;
    }
    return 0;
}

// y[i] = a[i] op b[i]; y may be a or b.
void arithmetic_row(Arithmetic op, const float * a, const float * b, float * y, int64_t n);

// y[i] = a[i] op b; y may be a.
void arithmetic_row_scalar(Arithmetic op, const float * a, float b, float * y, int64_t n);

} // namespace ggml::cpu
