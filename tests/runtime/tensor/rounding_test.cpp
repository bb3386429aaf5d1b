#include "runtime/tensor/rounding.h"

#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace {

using namespace ggml;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(rounding, agrees_with_the_library_inside_of_the_limits) {
    for (int quarter = -4 * 300; quarter <= 4 * 300; ++quarter) {
        for (const float v : {float(quarter) / 4, std::nextafter(float(quarter) / 4, 1e9f),
                              std::nextafter(float(quarter) / 4, -1e9f)}) {
            EXPECT_EQ(nearest_code(v, -1000, 1000), int(std::lrint(v))) << v;
            EXPECT_EQ(round_code(v, -1000, 1000), int(std::round(v))) << v;
            EXPECT_EQ(floor_code(v, -1000, 1000), int(v)) << v;
        }
    }
}

TEST(rounding, cuts_at_the_limits_and_takes_nan_to_the_lowest_code) {
    for (const auto round : {nearest_code, round_code, floor_code}) {
        EXPECT_EQ(round(1e30f, -4, 3), 3);
        EXPECT_EQ(round(kInf, -4, 3), 3);
        EXPECT_EQ(round(-1e30f, -4, 3), -4);
        EXPECT_EQ(round(-kInf, -4, 3), -4);
        EXPECT_EQ(round(kNaN, -4, 3), -4);
    }
}

TEST(rounding, finds_the_first_signed_extreme) {
    const std::vector<float> x = {1.0f, -3.0f, 3.0f, 2.0f};
    EXPECT_EQ(signed_extreme(x.data(), 4), -3.0f);
    EXPECT_EQ(largest_magnitude(x.data(), 4), 3.0f);
    EXPECT_EQ(signed_extreme(x.data(), 0), 0.0f);
}

TEST(rounding, sees_any_value_that_is_not_finite) {
    for (const float bad : {kNaN, -kNaN, kInf, -kInf}) {
        for (int at = 0; at < 32; ++at) {
            std::vector<float> x(32, 1.0f);
            EXPECT_TRUE(all_finite(x.data(), 32));
            x[at] = bad;
            EXPECT_FALSE(all_finite(x.data(), 32));
            EXPECT_FALSE(fits_half_scale(x.data(), 32));
        }
    }
    const float limit = 0x1p30f;
    EXPECT_FALSE(fits_half_scale(&limit, 1));
    const float below = std::nextafter(limit, 0.0f);
    EXPECT_TRUE(fits_half_scale(&below, 1));
}

} // namespace
