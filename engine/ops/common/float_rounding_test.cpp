#include "ops/common/float_rounding.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace sd {
namespace {

// All values of E4M3 from 0 to 448, from its bits: exponent bias 7, 3 fraction bits, code 0x7f is a NaN.
std::vector<float> e4m3_values() {
    std::vector<float> values;
    for (int code = 0; code < 0x7f; ++code) {
        const int exponent = code >> 3, fraction = code & 7;
        values.push_back(exponent == 0 ? std::ldexp(float(fraction), -9)
                                       : std::ldexp(float(8 + fraction), exponent - 10));
    }
    return values;
}

TEST(float_rounding, e4m3_values_stay) {
    const std::vector<float> values = e4m3_values();
    EXPECT_EQ(values.back(), kMaxE4m3);
    for (const float x : values) {
        EXPECT_EQ(as_e4m3(x), x);
        EXPECT_EQ(as_e4m3(-x), -x);
    }
}

TEST(float_rounding, between_e4m3_values_the_nearest_is_taken_and_the_even_one_of_two) {
    const std::vector<float> values = e4m3_values();
    for (size_t code = 0; code + 1 < values.size(); ++code) {
        const float low = values[code], high = values[code + 1], middle = (low + high) / 2;
        EXPECT_EQ(as_e4m3(middle), code % 2 == 0 ? low : high) << middle;
        EXPECT_EQ(as_e4m3(std::nextafter(middle, 0.0f)), low);
        EXPECT_EQ(as_e4m3(std::nextafter(middle, 1000.0f)), high);
        EXPECT_EQ(as_e4m3(-middle), -as_e4m3(middle));
    }
}

TEST(float_rounding, e4m3_saturates_and_keeps_nan) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const float x : {449.0f, 480.0f, 1e30f, kInfinity}) {
        EXPECT_EQ(as_e4m3(x), 448.0f);
        EXPECT_EQ(as_e4m3(-x), -448.0f);
    }
    EXPECT_TRUE(std::isnan(as_e4m3(std::nanf(""))));
}

TEST(float_rounding, f16_and_bf16_are_those_of_tensors) {
    EXPECT_EQ(as_f16(1.0f + 1.0f / 4096), 1.0f);
    EXPECT_EQ(as_f16(1.0f + 1.0f / 1024), 1.0f + 1.0f / 1024);
    EXPECT_EQ(as_bf16(1.0f + 1.0f / 512), 1.0f);
    EXPECT_EQ(as_bf16(1.0f + 1.0f / 128), 1.0f + 1.0f / 128);
}

} // namespace
} // namespace sd
