// Overflow-checked size arithmetic and alignment. Sizes come from files and callers, so a product that does
// not fit is an answer (false), never a wrapped number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace ggml {

template <class T>
[[nodiscard]] inline bool checked_mul(T a, T b, T & out) {
    return !__builtin_mul_overflow(a, b, &out);
}

template <class T>
[[nodiscard]] inline bool checked_add(T a, T b, T & out) {
    return !__builtin_add_overflow(a, b, &out);
}

template <class T>
[[nodiscard]] inline bool checked_sub(T a, T b, T & out) {
    return !__builtin_sub_overflow(a, b, &out);
}

// Smallest multiple of `unit` (a power of two) that is >= value. The caller knows it does not overflow.
constexpr size_t align_up(size_t value, size_t unit) { return (value + unit - 1) & ~(unit - 1); }

[[nodiscard]] inline bool checked_align_up(size_t value, size_t unit, size_t & out) {
    if (!checked_add(value, unit - 1, out)) return false;
    out &= ~(unit - 1);
    return true;
}

// Sizes of what nobody has allocated yet may be absurd: these stick at SIZE_MAX, which no allocator grants.
// Arguments are not negative.
template <class... T>
[[nodiscard]] constexpr size_t saturating_mul(T... factors) {
    size_t product = 1;
    for (const size_t factor : {size_t(factors)...}) {
        if (__builtin_mul_overflow(product, factor, &product)) product = SIZE_MAX;
    }
    return product;
}

template <class... T>
[[nodiscard]] constexpr size_t saturating_add(T... terms) {
    size_t sum = 0;
    for (const size_t term : {size_t(terms)...}) {
        if (__builtin_add_overflow(sum, term, &sum)) sum = SIZE_MAX;
    }
    return sum;
}

[[nodiscard]] constexpr size_t saturating_align_up(size_t value, size_t unit) {
    return value > SIZE_MAX - (unit - 1) ? SIZE_MAX : align_up(value, unit);
}

constexpr bool is_power_of_two(size_t value) { return value != 0 && (value & (value - 1)) == 0; }

// For b > 0. Any a: a sum of both could overflow.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

} // namespace ggml
