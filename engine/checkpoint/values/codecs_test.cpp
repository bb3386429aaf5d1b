#include "checkpoint/values/codecs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sd {
namespace {

// The definition: sign, exponent and mantissa fields with a bias, without regard to what is special.
float by_fields(int code, int mantissa_bits, int bias) {
    const int exponent = (code & 0x7f) >> mantissa_bits, mantissa = code & ((1 << mantissa_bits) - 1);
    const double fraction = double(mantissa) / double(1 << mantissa_bits);
    const double magnitude =
        exponent == 0 ? fraction * std::pow(2.0, 1 - bias) : (1 + fraction) * std::pow(2.0, exponent - bias);
    return float((code & 0x80) != 0 ? -magnitude : magnitude);
}

TEST(codecs, all_e4m3_codes_have_the_values_of_their_fields) {
    for (int code = 0; code < 256; ++code) {
        const float value = f8_e4m3_to_float(uint8_t(code));
        if ((code & 0x7f) == 0x7f) {
            EXPECT_TRUE(std::isnan(value)) << code;
        } else {
            EXPECT_EQ(value, by_fields(code, 3, 7)) << code;
            EXPECT_EQ(std::signbit(value), code >= 128) << code;
        }
    }
    EXPECT_EQ(f8_e4m3_to_float(0x7e), 448.0f);
}

TEST(codecs, all_e5m2_codes_have_the_values_of_their_fields) {
    for (int code = 0; code < 256; ++code) {
        const float value = f8_e5m2_to_float(uint8_t(code));
        if ((code & 0x7f) < 0x7c) {
            EXPECT_EQ(value, by_fields(code, 2, 15)) << code;
        } else if ((code & 0x7f) == 0x7c) {
            EXPECT_EQ(value, (code & 0x80) != 0 ? -INFINITY : INFINITY) << code;
        } else {
            EXPECT_TRUE(std::isnan(value)) << code;
        }
    }
}

TEST(codecs, e8m0_codes_are_powers_of_two) {
    EXPECT_EQ(f8_e8m0_to_float(127), 1.0f);
    EXPECT_EQ(f8_e8m0_to_float(0), std::ldexp(1.0f, -127));
    EXPECT_EQ(f8_e8m0_to_float(254), std::ldexp(1.0f, 127));
    EXPECT_TRUE(std::isnan(f8_e8m0_to_float(255)));
}

TEST(codecs, encoding_undoes_decoding) {
    for (int code = 0; code < 256; ++code) {
        if ((code & 0x7f) != 0x7f) {
            EXPECT_EQ(float_to_f8_e4m3(f8_e4m3_to_float(uint8_t(code))), code);
        }
    }
}

TEST(codecs, encoding_rounds_to_nearest_and_ties_to_even) {
    for (int code = 0; code < 0x7e; ++code) {
        const float low = f8_e4m3_to_float(uint8_t(code)), high = f8_e4m3_to_float(uint8_t(code + 1));
        const float middle = (low + high) / 2; // exact: one bit more than a code has
        EXPECT_EQ(float_to_f8_e4m3(middle), code % 2 == 0 ? code : code + 1) << code;
        EXPECT_EQ(float_to_f8_e4m3(std::nextafter(middle, 0.0f)), code) << code;
        EXPECT_EQ(float_to_f8_e4m3(-std::nextafter(middle, 1e9f)), (code + 1) | 0x80) << code;
    }
}

TEST(codecs, encoding_saturates) {
    for (const float value : {449.0f, 464.0f, 1e30f, std::numeric_limits<float>::infinity()}) {
        EXPECT_EQ(float_to_f8_e4m3(value), 0x7e) << value;
        EXPECT_EQ(float_to_f8_e4m3(-value), 0xfe) << value;
    }
    EXPECT_EQ(float_to_f8_e4m3(std::nanf("")) & 0x7f, 0x7f);
    EXPECT_EQ(float_to_f8_e4m3(std::numeric_limits<float>::denorm_min()), 0);
}

} // namespace
} // namespace sd
