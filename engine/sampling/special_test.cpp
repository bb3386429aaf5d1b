#include "sampling/brownian.h"
#include "sampling/special.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace sd::test {
namespace {

TEST(special, the_normal_quantile_undoes_the_error_function) {
    for (const double p : {1e-9, 0.001, 0.02, 0.0243, 0.3, 0.5, 0.8, 0.976, 0.9999}) {
        const double z = normal_quantile(p);
        EXPECT_NEAR(0.5 * std::erfc(-z / std::numbers::sqrt2) / p, 1.0, 2e-8) << p;
    }
    EXPECT_TRUE(std::isinf(normal_quantile(0.0)) && normal_quantile(0.0) < 0.0);
    EXPECT_TRUE(std::isinf(normal_quantile(1.0)) && normal_quantile(1.0) > 0.0);
}

TEST(special, the_beta_quantile_has_its_closed_forms) {
    for (const double u : {0.001, 0.1, 0.5, 0.77, 0.999}) {
        EXPECT_NEAR(beta_quantile(u, 1.0, 1.0), u, 1e-12);
        EXPECT_NEAR(beta_quantile(u, 3.0, 1.0), std::cbrt(u), 1e-12);
        EXPECT_NEAR(beta_quantile(u, 1.0, 40.0), 1.0 - std::pow(1.0 - u, 1.0 / 40.0), 1e-12);
        const double sine = std::sin(std::numbers::pi * u / 2.0); // the arcsine distribution
        EXPECT_NEAR(beta_quantile(u, 0.5, 0.5), sine * sine, 1e-12);
        EXPECT_NEAR(beta_quantile(u, 0.6, 50.0) + beta_quantile(1.0 - u, 50.0, 0.6), 1.0, 1e-12);
    }
    EXPECT_EQ(beta_quantile(0.0, 0.6, 0.6), 0.0);
    EXPECT_EQ(beta_quantile(1.0, 0.6, 0.6), 1.0);
}

TEST(brownian, increments_have_variance_1_and_are_independent) {
    constexpr size_t n = 20000;
    BrownianNoise noise(5, n, 1.0f);
    std::vector<float> a(n), b(n);
    for (const auto & [first, second] : {std::pair(0.83f, 0.8f), std::pair(0.3f, 0.1f)}) {
        noise.step_to(first, a.data());
        noise.step_to(second, b.data());
        double mean = 0.0, squares_a = 0.0, squares_b = 0.0, products = 0.0;
        for (size_t k = 0; k < n; ++k) {
            mean += double(a[k]), products += double(a[k]) * double(b[k]);
            squares_a += double(a[k]) * double(a[k]), squares_b += double(b[k]) * double(b[k]);
        }
        EXPECT_NEAR(mean / n, 0.0, 0.04);
        EXPECT_NEAR(squares_a / n, 1.0, 0.05);
        EXPECT_NEAR(squares_b / n, 1.0, 0.05);
        EXPECT_NEAR(products / n, 0.0, 0.04);
    }
}

TEST(brownian, a_path_is_the_same_for_few_and_for_many_steps) {
    constexpr size_t n = 10;
    BrownianNoise few(5, n, 0.9f), many(5, n, 0.9f);
    std::vector<float> whole(n), first(n), second(n);
    few.step_to(0.4f, whole.data());
    many.step_to(0.7f, first.data());
    many.step_to(0.4f, second.data());
    for (size_t k = 0; k < n; ++k)
        EXPECT_NEAR(whole[k] * std::sqrt(0.5f), first[k] * std::sqrt(0.2f) + second[k] * std::sqrt(0.3f),
                    1e-5f);
}

TEST(brownian, a_path_begins_at_0_and_depends_on_seed_and_element) {
    EXPECT_NEAR(brownian_path(5, 3, 0.0), 0.0, 1e-12);
    EXPECT_NE(brownian_path(5, 3, 0.5), brownian_path(6, 3, 0.5));
    EXPECT_NE(brownian_path(5, 3, 0.5), brownian_path(5, 4, 0.5));
    // continuous across the places it is halved at
    EXPECT_NEAR(brownian_path(5, 3, 0.5), brownian_path(5, 3, 0.5 - 1e-9), 1e-3);
    EXPECT_NEAR(brownian_path(5, 3, 1.0), brownian_path(5, 3, 1.0 - 1e-9), 1e-3);
}

} // namespace
} // namespace sd::test
