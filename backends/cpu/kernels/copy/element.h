// What converting one plain element means. This is the specification the row converters are compared with:
// float formats round to nearest even (F64 to 16 bits goes through F32), integers drop the fraction, saturate
// and take NaN as 0, as the codecs of runtime/tensor do.
#pragma once

#include "ggml.h"
#include "runtime/base/half.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>

namespace ggml::cpu {

struct Half {
    uint16_t bits;
};
struct BFloat {
    uint16_t bits;
};

// The plain types, in the order of plain_index.
using PlainTypes = std::tuple<float, Half, BFloat, double, int8_t, int16_t, int32_t, int64_t>;
inline constexpr int kPlainTypes = int(std::tuple_size_v<PlainTypes>);

// Position in PlainTypes, or -1 for block-quantized and unknown types.
constexpr int plain_index(ggml_type type) {
    switch (type) {
    case GGML_TYPE_F32: return 0;
    case GGML_TYPE_F16: return 1;
    case GGML_TYPE_BF16: return 2;
    case GGML_TYPE_F64: return 3;
    case GGML_TYPE_I8: return 4;
    case GGML_TYPE_I16: return 5;
    case GGML_TYPE_I32: return 6;
    case GGML_TYPE_I64: return 7;
    default: return -1;
    }
}

inline float to_arithmetic(Half h) { return half_to_float(h.bits); }
inline float to_arithmetic(BFloat b) { return bf16_to_float(b.bits); }
template <class T>
T to_arithmetic(T value) {
    return value;
}

// Truncates toward zero. The largest integers are no floats, so the upper bound is the power of two above
// them.
template <class Integer, class Float>
Integer truncate(Float value) {
    constexpr Float kLow = Float(std::numeric_limits<Integer>::min());
    if (std::isnan(value)) return 0;
    if (value >= -kLow) return std::numeric_limits<Integer>::max();
    if (value <= kLow) return std::numeric_limits<Integer>::min();
    return Integer(value);
}

template <class Narrow>
Narrow clamp_integer(int64_t value) {
    if (value > int64_t(std::numeric_limits<Narrow>::max())) return std::numeric_limits<Narrow>::max();
    if (value < int64_t(std::numeric_limits<Narrow>::min())) return std::numeric_limits<Narrow>::min();
    return Narrow(value);
}

template <class D, class S>
D convert_element(S source) {
    if constexpr (std::is_same_v<D, S>) {
        return source;
    } else {
        const auto value = to_arithmetic(source);
        if constexpr (std::is_same_v<D, Half>) {
            return {float_to_half(float(value))};
        } else if constexpr (std::is_same_v<D, BFloat>) {
            return {float_to_bf16(float(value))};
        } else if constexpr (std::is_floating_point_v<D>) {
            return D(value);
        } else if constexpr (std::is_floating_point_v<decltype(value)>) {
            return truncate<D>(value);
        } else {
            return clamp_integer<D>(int64_t(value));
        }
    }
}

template <class T>
T load_element(const void * p) {
    T value;
    std::memcpy(&value, p, sizeof(T));
    return value;
}
template <class T>
void store_element(void * p, T value) {
    std::memcpy(p, &value, sizeof(T));
}

// Converts one element in memory; no alignment needed. Null when a type is not plain.
using ElementConvert = void (*)(const void * src, void * dst);
ElementConvert element_converter(ggml_type src, ggml_type dst);

} // namespace ggml::cpu
