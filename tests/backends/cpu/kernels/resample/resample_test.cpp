// POOL_1D, POOL_2D, UPSCALE.
#include "backends/cpu/kernel.h"
#include "runtime/ops/params.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

namespace ggml::test {
namespace {

const RunOptions kThreads = {{1, 2, 3, 4, 5, 6, 7, 8}, false, true};
constexpr Layout kLayouts[] = {Layout::contiguous, Layout::padded_rows, Layout::transposed01,
                               Layout::permuted12, Layout::permuted23};
// As numbers: C++ does not combine two enumerations.
constexpr uint32_t kBilinear = GGML_SCALE_MODE_BILINEAR, kBicubic = GGML_SCALE_MODE_BICUBIC;
constexpr uint32_t kAlign = GGML_SCALE_FLAG_ALIGN_CORNERS, kAntialias = GGML_SCALE_FLAG_ANTIALIAS;
constexpr uint32_t kModes[] = {GGML_SCALE_MODE_NEAREST,
                               kBilinear,
                               kBicubic,
                               GGML_SCALE_MODE_NEAREST + kAlign,
                               kBilinear + kAlign,
                               kBicubic + kAlign,
                               kBilinear + kAntialias,
                               kBilinear + kAntialias + kAlign};
using Values = std::vector<double>;

void expect_near(OpCheck & c, ggml_tensor * result, const Values & expected, double tolerance = 1e-6) {
    for (const bool use_ref : {true, false}) {
        const Values out = c.compute(result, use_ref, 2);
        ASSERT_EQ(out.size(), expected.size());
        for (size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], expected[i], tolerance) << i;
    }
}

TEST(pool_1d, has_the_values_of_the_specification) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 6, 4, 5}, {5, 1, 1, 1});
    expect_near(c, ggml_pool_1d(c.ctx(), a, GGML_OP_POOL_MAX, 3, 2, 1), {2, 6, 5});
    // The average counts elements only, not padding.
    expect_near(c, ggml_pool_1d(c.ctx(), a, GGML_OP_POOL_AVG, 3, 2, 1), {1.5, 4, 4.5});
}

TEST(pool_2d, has_the_values_of_the_specification) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3, 1, 1});
    expect_near(c, ggml_pool_2d(c.ctx(), a, GGML_OP_POOL_MAX, 2, 2, 1, 1, 0, 0), {5, 6, 8, 9});
    expect_near(c, ggml_pool_2d(c.ctx(), a, GGML_OP_POOL_AVG, 2, 2, 1, 1, 0, 0), {3, 4, 6, 7});
    // The average divides by the window, padding included.
    expect_near(c, ggml_pool_2d(c.ctx(), a, GGML_OP_POOL_AVG, 2, 2, 2, 2, 1, 1), {0.25, 1.25, 2.75, 7});
}

TEST(pool, equals_the_reference_in_any_layout) {
    for (const ggml_op_pool op : {GGML_OP_POOL_MAX, GGML_OP_POOL_AVG}) {
        for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
            for (const Layout layout : kLayouts) {
                OpCheck c;
                ggml_tensor * a = c.input(type, {67, 29, 5, 2}, layout);
                set_element(a, 5, 5, 1, 1, NAN);
                set_element(a, 50, 20, 1, 0, -INFINITY);
                c.check(ggml_pool_1d(c.ctx(), a, op, 5, 3, 2), kExact, kThreads);
                c.check(ggml_pool_2d(c.ctx(), a, op, 3, 4, 2, 1, 1, 2), kExact, kThreads);
            }
        }
    }
}

TEST(pool, a_nan_in_the_window_and_only_there_gives_nan) {
    OpCheck c;
    ggml_tensor * a = c.values({1, NAN, 3, 4, -INFINITY, -INFINITY}, {6, 1, 1, 1});
    const Values out = c.compute(ggml_pool_1d(c.ctx(), a, GGML_OP_POOL_MAX, 2, 2, 0), false);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], 4);
    EXPECT_EQ(out[2], double(-INFINITY));
}

TEST(pool, a_window_of_padding_gives_the_lowest_float_or_zero) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2}, {2, 1, 1, 1});
    expect_near(c, ggml_pool_1d(c.ctx(), a, GGML_OP_POOL_AVG, 2, 2, 2), {0, 1.5, 0});
    EXPECT_EQ(c.compute(ggml_pool_1d(c.ctx(), a, GGML_OP_POOL_MAX, 2, 2, 2), false)[0], double(-FLT_MAX));
}

TEST(upscale, equals_the_reference_in_every_mode_and_layout) {
    for (const uint32_t mode : kModes) {
        for (const Layout layout : kLayouts) {
            SCOPED_TRACE(std::to_string(mode) + " " + layout_name(layout));
            OpCheck c;
            ggml_tensor * a = c.input(GGML_TYPE_F32, {23, 17, 3, 2}, layout);
            c.check(ggml_interpolate(c.ctx(), a, 46, 34, 3, 2, mode), kExact, kThreads);
            c.check(ggml_interpolate(c.ctx(), a, 7, 5, 6, 4, mode), kExact, kThreads);
            c.check(ggml_interpolate(c.ctx(), a, 67, 3, 2, 1, mode), kExact, kThreads);
            c.check(ggml_interpolate(c.ctx(), a, 1, 1, 1, 1, mode), kExact, kThreads);
        }
        OpCheck c;
        ggml_tensor * one = c.input(GGML_TYPE_F32, {1, 1, 2, 1});
        c.check(ggml_interpolate(c.ctx(), one, 5, 4, 2, 1, mode), kExact, kThreads);
        ggml_tensor * wide = c.input(GGML_TYPE_F32, {2003, 2, 1, 1});
        c.check(ggml_interpolate(c.ctx(), wide, 3, 301, 1, 1, mode), kExact, kThreads);
    }
}

TEST(upscale, a_constant_stays_constant) {
    // The cubic weights are polynomials in F32 with terms up to 6 that cancel; two dimensions multiply.
    constexpr double kTolerance = 3.0 * 2 * 6 * 0x1p-23;
    for (const uint32_t mode : kModes) {
        OpCheck c;
        ggml_tensor * a = c.values(std::vector<float>(15, 3.0f), {5, 3, 1, 1});
        expect_near(c, ggml_interpolate(c.ctx(), a, 13, 7, 1, 1, mode), Values(91, 3.0), kTolerance);
        expect_near(c, ggml_interpolate(c.ctx(), a, 2, 2, 1, 1, mode), Values(4, 3.0), kTolerance);
    }
}

TEST(upscale, nearest_repeats_elements) {
    OpCheck c;
    ggml_tensor * a = c.values({1, 2, 3, 4}, {2, 2, 1, 1});
    expect_near(c, ggml_upscale(c.ctx(), a, 2, GGML_SCALE_MODE_NEAREST),
                {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}, 0);
}

TEST(upscale, linear_modes_have_the_values_of_the_specification) {
    OpCheck c;
    ggml_tensor * a = c.values({0, 4}, {2, 1, 1, 1});
    expect_near(c, ggml_interpolate(c.ctx(), a, 4, 1, 1, 1, GGML_SCALE_MODE_BILINEAR), {0, 1, 3, 4});
    expect_near(c, ggml_interpolate(c.ctx(), a, 5, 1, 1, 1, kBilinear + kAlign), {0, 1, 2, 3, 4});
    // Halving with antialiasing: a triangle of half width 2 over elements at distances -1.5 .. 1.5, cut off
    // at the left edge for the first result element: weights 3/4, 3/4, 1/4 and 1/4, 3/4, 3/4, 1/4.
    ggml_tensor * b = c.values({8, 0, 0, 0, 16, 0}, {6, 1, 1, 1});
    expect_near(c, ggml_interpolate(c.ctx(), b, 3, 1, 1, 1, kBilinear + kAntialias),
                {8 * 3.0 / 7, 16 * 1.0 / 8, 16 * 3.0 / 7});
}

TEST(upscale, bicubic_has_the_weights_of_keys_kernel) {
    OpCheck c;
    // An impulse far from the edges, doubled: distances 1.75, 1.25, 0.75, 0.25 and back, with a = -0.75.
    ggml_tensor * a = c.values({0, 0, 0, 1, 0, 0, 0}, {7, 1, 1, 1});
    const auto weight = [](double x) {
        const double s = -0.75;
        return x < 1 ? (s + 2) * x * x * x - (s + 3) * x * x + 1
                     : s * x * x * x - 5 * s * x * x + 8 * s * x - 4 * s;
    };
    const double w1 = weight(1.75), w2 = weight(1.25), w3 = weight(0.75), w4 = weight(0.25);
    expect_near(c, ggml_interpolate(c.ctx(), a, 14, 1, 1, 1, GGML_SCALE_MODE_BICUBIC),
                {0, 0, 0, w1, w2, w3, w4, w4, w3, w2, w1, 0, 0, 0});
}

TEST(upscale, propagates_nan_and_infinity) {
    OpCheck c;
    ggml_tensor * a = c.values({1, NAN, INFINITY, 2}, {4, 1, 1, 1});
    const Values near = c.compute(ggml_upscale(c.ctx(), a, 2, GGML_SCALE_MODE_NEAREST), false);
    EXPECT_TRUE(std::isnan(near[2]) && std::isnan(near[3]));
    EXPECT_EQ(near[4], double(INFINITY));
    const Values linear = c.compute(ggml_upscale(c.ctx(), a, 2, GGML_SCALE_MODE_BILINEAR), false);
    EXPECT_TRUE(std::isnan(linear[2]));
    EXPECT_EQ(linear[6], double(INFINITY));
}

TEST(upscale, refuses_unknown_modes) {
    OpCheck c;
    ggml_tensor * node =
        ggml_upscale(c.ctx(), c.input(GGML_TYPE_F32, {4, 2, 1, 1}), 2, GGML_SCALE_MODE_NEAREST);
    set_params(node, UpscaleParams{GGML_SCALE_MODE_COUNT});
    EXPECT_FALSE(cpu::find_kernels(GGML_OP_UPSCALE)->supports(node));
    set_params(node, UpscaleParams{int32_t(kBicubic + kAntialias)});
    EXPECT_FALSE(cpu::find_kernels(GGML_OP_UPSCALE)->supports(node));
}

} // namespace
} // namespace ggml::test
