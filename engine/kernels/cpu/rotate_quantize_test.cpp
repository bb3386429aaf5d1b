#include "kernels/cpu/rotate_quantize.h"

#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace sd::test {
namespace {

constexpr int kGroups[] = {1, 4, 16, 64, 256, 1024, 4096};

// Element [i][j] of the unnormalized matrix: the product over base-4 digits.
int hadamard_sign(int group, int i, int j) {
    constexpr int kH4[4][4] = {{1, 1, 1, -1}, {1, 1, -1, 1}, {1, -1, 1, 1}, {-1, 1, 1, 1}};
    int sign = 1;
    for (int g = group; g > 1; g /= 4, i /= 4, j /= 4) sign *= kH4[i % 4][j % 4];
    return sign;
}

// By the definition, in double precision.
std::vector<double> rotated_by_matrix(const float * x, int64_t k, int group) {
    std::vector<double> y(size_t(k), 0.0);
    for (int64_t i = 0; i < k; ++i) {
        const int64_t first = i - i % group;
        for (int j = 0; j < group; ++j)
            y[size_t(i)] += double(hadamard_sign(group, int(i % group), j)) * double(x[first + j]);
        y[size_t(i)] /= std::sqrt(double(group));
    }
    return y;
}

TEST(rotate_quantize, rotates_by_the_regular_hadamard_matrix) {
    // Row sums are sqrt(group): a constant stays what it is. In the ordinary matrix most are zero.
    for (const int group : kGroups) {
        std::vector<float> x(size_t(group) * 2, 3.0f), y(x.size());
        rotate_scalar(x.data(), group * 2, group, y.data());
        EXPECT_EQ(x, y) << group;
        // Small whole numbers make every sum exact.
        for (size_t i = 0; i < x.size(); ++i) x[i] = float(int(i * 7919 % 17) - 8);
        rotate_scalar(x.data(), group * 2, group, y.data());
        const std::vector<double> expected = rotated_by_matrix(x.data(), group * 2, group);
        for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(double(y[i]), expected[i]) << group << ", " << i;
        rotate_scalar(y.data(), group * 2, group, y.data());
        EXPECT_EQ(x, y) << group << ": it is its own inverse";
    }
}

// Calls fn(kernel) for the plain code and for each instruction set of the other.
template <class Fn>
void for_each_kernel(const Fn & fn) {
    fn(rotate_quantize_scalar);
    ggml::test::for_each_isa([&](ggml::cpu::Isa) { fn(rotate_quantize_simd); });
}

std::vector<float> random_row(int64_t k, uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> values(-1.0f, 1.0f);
    std::vector<float> x(static_cast<size_t>(k));
    for (float & v : x) v = values(random);
    return x;
}

void expect_close_to_exact(RotateQuantize kernel, const std::vector<float> & x, const std::vector<double> & r,
                           int group) {
    double largest = 0;
    for (const double v : r) largest = std::max(largest, std::fabs(v));
    std::vector<int8_t> codes(x.size());
    std::vector<float> scratch(x.size());
    float scale = 0;
    kernel({x.data(), int64_t(x.size()), group, codes.data(), &scale, scratch.data()});
    EXPECT_NEAR(scale, largest / 127, std::ldexp(8.0, -24) * largest / 127) << group;
    // The quotient's error is a few rounding errors of the largest value.
    for (size_t i = 0; i < x.size(); ++i)
        ASSERT_LE(std::fabs(codes[i] - r[i] / largest * 127), 0.5002) << group << " " << i;
}

TEST(rotate_quantize, is_close_to_exact_arithmetic) {
    for (const int group : kGroups) {
        for (const bool outliers : {false, true}) {
            std::vector<float> x = random_row(4096, uint32_t(group));
            for (size_t i = 0; outliers && i < x.size(); i += 97) x[i] *= 60.0f;
            const std::vector<double> r = rotated_by_matrix(x.data(), 4096, group);
            for_each_kernel([&](RotateQuantize kernel) { expect_close_to_exact(kernel, x, r, group); });
        }
    }
}

TEST(rotate_quantize, writes_its_outputs_and_nothing_beside_them) {
    for (const int group : kGroups) {
        for (const int64_t groups : {1, 2, 3, 7}) {
            const size_t k = size_t(group * groups);
            const std::vector<float> x = random_row(group * groups, 5);
            for_each_kernel([&](RotateQuantize kernel) {
                std::vector<int8_t> codes(k + 128, 99);
                std::vector<float> scratch(k + 32, 7.0f), input = x;
                float scales[3] = {1, 2, 3};
                kernel({input.data(), int64_t(k), group, codes.data() + 64, scales + 1, scratch.data() + 16});
                EXPECT_EQ(input, x);
                EXPECT_TRUE(scales[0] == 1 && scales[1] != 2 && scales[2] == 3);
                for (size_t i = 0; i < 64; ++i) ASSERT_TRUE(codes[i] == 99 && codes[64 + k + i] == 99) << k;
                for (size_t i = 0; i < 16; ++i) ASSERT_TRUE(scratch[i] == 7 && scratch[16 + k + i] == 7) << k;
            });
        }
    }
}

TEST(rotate_quantize, may_use_its_input_as_scratch_memory) {
    for (const int group : kGroups) {
        std::vector<float> x = random_row(group * 5, 6), scratch(x.size());
        for_each_kernel([&](RotateQuantize kernel) {
            std::vector<int8_t> codes(x.size()), want(x.size());
            std::vector<float> in_place = x;
            float scale = 0, want_scale = 0;
            kernel({x.data(), int64_t(x.size()), group, want.data(), &want_scale, scratch.data()});
            kernel({in_place.data(), int64_t(x.size()), group, codes.data(), &scale, in_place.data()});
            EXPECT_EQ(codes, want) << group;
            EXPECT_EQ(scale, want_scale) << group;
        });
    }
}

TEST(rotate_quantize, knows_its_groups) {
    for (const int group : kGroups) EXPECT_TRUE(is_rotation_group(group)) << group;
    for (const int64_t group : {int64_t(0), int64_t(-4), int64_t(2), int64_t(8), int64_t(12), int64_t(128),
                                int64_t(16384), INT64_MIN, int64_t(4) << 32})
        EXPECT_FALSE(is_rotation_group(group)) << group;
}

} // namespace
} // namespace sd::test
