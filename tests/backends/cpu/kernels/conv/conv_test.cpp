// CONV_2D and CONV_3D.
#include "backends/cpu/kernel.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

// oneDNN chooses its own instruction set; ours matters for the change of layout only.
const RunOptions kFewThreads{{1, 3}, false, true};
const RunOptions kAllLevels{{1, 2}, true, true};

// Sums of `terms` products of values in [-1, 1], in F32: partial sums grow like the root of their number, and
// so does the count of roundings that do not cancel.
Tolerance sum_tolerance(int64_t terms) { return {1.2e-7 * double(terms) + 1e-6, 0, 0}; }

struct Step {
    int stride = 1, pad = 0, dilation = 1;
};

struct Case2d {
    ggml_type type = GGML_TYPE_F32;
    int64_t width = 16, height = 16, ic = 4, oc = 4, batch = 1, kernel_width = 3, kernel_height = 3;
    Step x{1, 1, 1}, y{1, 1, 1};
    Layout layout = Layout::contiguous;
};

ggml_tensor * build(OpCheck & check, const Case2d & c) {
    ggml_tensor * kernel = check.input(c.type, {c.kernel_width, c.kernel_height, c.ic, c.oc});
    ggml_tensor * data = check.input(GGML_TYPE_F32, {c.width, c.height, c.ic, c.batch}, c.layout);
    return ggml_conv_2d_direct(check.ctx(), kernel, data, c.x.stride, c.y.stride, c.x.pad, c.y.pad,
                               c.x.dilation, c.y.dilation);
}

void expect_matches(const Case2d & c, const RunOptions & options = kFewThreads) {
    SCOPED_TRACE(testing::Message() << c.width << "x" << c.height << " " << c.ic << "->" << c.oc << " kernel "
                                    << c.kernel_width << "x" << c.kernel_height << " stride " << c.x.stride
                                    << "," << c.y.stride << " pad " << c.x.pad << "," << c.y.pad
                                    << " dilation " << c.x.dilation << "," << c.y.dilation << " "
                                    << layout_name(c.layout));
    OpCheck check(64u << 20);
    check.check(build(check, c), sum_tolerance(c.ic * c.kernel_width * c.kernel_height), options);
}

TEST(conv_2d, matches_the_reference_for_every_mix_of_stride_padding_and_dilation) {
    for (int stride : {1, 2, 3}) {
        for (int pad : {0, 1, 4}) {
            for (int dilation : {1, 2}) {
                expect_matches({.width = 13,
                                .height = 11,
                                .ic = 5,
                                .oc = 7,
                                .x = {stride, pad, dilation},
                                .y = {1 + stride % 3, pad / 2, 3 - dilation}});
            }
        }
    }
}

TEST(conv_2d, matches_the_reference_for_every_kernel_size) {
    for (int64_t k : {1, 2, 3, 5, 7}) {
        for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
            expect_matches({.type = type, .kernel_width = k, .kernel_height = 8 - k});
            expect_matches({.type = type, .ic = 3, .oc = 65, .kernel_width = k, .kernel_height = 1, .y = {}});
        }
    }
}

TEST(conv_2d, matches_the_reference_for_awkward_channel_counts) {
    for (int64_t ic : {1, 3, 17, 64}) {
        for (int64_t oc : {1, 5, 16, 67, 261})
            expect_matches({.width = 9, .height = 7, .ic = ic, .oc = oc, .batch = 2});
    }
}

TEST(conv_2d, takes_views_of_any_layout) {
    for (Layout layout :
         {Layout::padded_rows, Layout::transposed01, Layout::permuted12, Layout::permuted23}) {
        expect_matches({.width = 12, .height = 9, .batch = 3, .layout = layout}, kAllLevels);
    }
}

TEST(conv_2d, joins_the_strips_of_a_large_image) {
    // Rows of 64 channels and 300 columns are 77 KB: several strips, the last of which overlaps.
    expect_matches({.width = 300, .height = 75, .ic = 64, .oc = 8, .x = {1, 1, 1}, .y = {1, 1, 1}},
                   {{1, 2}, false, true});
    expect_matches({.width = 600,
                    .height = 90,
                    .ic = 32,
                    .oc = 8,
                    .kernel_width = 1,
                    .kernel_height = 3,
                    .x = {2, 0, 1},
                    .y = {2, 2, 3}},
                   {{1, 2}, false, true});
}

TEST(conv_2d, gives_the_same_bytes_for_one_to_eight_threads) {
    const RunOptions all{{1, 2, 3, 4, 5, 6, 7, 8}, false, true};
    expect_matches({.width = 40, .height = 40, .ic = 24, .oc = 40}, all);
    expect_matches({.width = 33,
                    .height = 17,
                    .ic = 128,
                    .oc = 5,
                    .kernel_width = 1,
                    .kernel_height = 1,
                    .x = {},
                    .y = {}},
                   all);
    expect_matches({.width = 4, .height = 4, .ic = 256, .oc = 64}, all);
}

TEST(conv_2d, single_pixels_and_kernels_as_large_as_the_padded_image) {
    expect_matches(
        {.width = 1, .height = 1, .ic = 1, .oc = 1, .kernel_width = 1, .kernel_height = 1, .x = {}, .y = {}});
    expect_matches({.width = 1, .height = 1});
    expect_matches({.width = 5, .height = 4, .kernel_width = 7, .kernel_height = 6});
    expect_matches({.width = 2, .height = 3, .kernel_width = 5, .kernel_height = 1, .x = {3, 2, 1}, .y = {}});
}

TEST(conv_2d, an_empty_batch_has_nothing_to_do) {
    OpCheck check;
    ggml_tensor * out = build(check, {.batch = 0});
    EXPECT_TRUE(cpu::find_kernels(GGML_OP_CONV_2D)->supports(out));
    EXPECT_TRUE(check.compute(out, false, 2).empty());
}

TEST(conv_2d, passes_nan_and_infinity_on_to_the_outputs_under_the_kernel_only) {
    OpCheck check;
    ggml_tensor * kernel = check.input(GGML_TYPE_F32, {3, 3, 2, 3}, Layout::contiguous, 0.5f, 1.0f);
    ggml_tensor * data = check.input(GGML_TYPE_F32, {10, 10, 2, 1});
    set_element(data, 2, 2, 0, 0, NAN);
    set_element(data, 7, 7, 1, 0, -INFINITY);
    ggml_tensor * out = ggml_conv_2d_direct(check.ctx(), kernel, data, 1, 1, 1, 1, 1, 1);
    check.check(out, sum_tolerance(18), kFewThreads);
    const std::vector<double> values = check.compute(out, false);
    EXPECT_TRUE(std::isnan(values[2 * 10 + 2]));
    EXPECT_EQ(values[7 * 10 + 7], -INFINITY);
    EXPECT_TRUE(std::isfinite(values[4 * 10 + 4]));
}

TEST(conv_2d, gives_hand_computed_values) {
    for (bool use_ref : {true, false}) {
        OpCheck check;
        // [1 2; 3 4] * [1 10] without and with one column of padding: the kernel is not mirrored.
        ggml_tensor * kernel = check.values({1, 10}, {2, 1, 1, 1});
        ggml_tensor * data = check.values({1, 2, 3, 4}, {2, 2, 1, 1});
        ggml_tensor * plain = ggml_conv_2d_direct(check.ctx(), kernel, data, 1, 1, 0, 0, 1, 1);
        ggml_tensor * padded = ggml_conv_2d_direct(check.ctx(), kernel, data, 1, 1, 1, 0, 1, 1);
        expect_close(check.compute(plain, use_ref), {21, 43}, kExact, "plain");
        expect_close(check.compute(padded, use_ref), {10, 21, 2, 30, 43, 4}, kExact, "padded");
    }
}

struct Case3d {
    ggml_type type = GGML_TYPE_F32;
    int64_t width = 8, height = 7, depth = 6, kernel = 3, kernel_depth = 3;
    int ic = 3, oc = 4, batch = 1;
    Step x{1, 1, 1}, y{1, 1, 1}, z{1, 1, 1};
    Layout layout = Layout::contiguous;
};

void expect_matches(const Case3d & c, const RunOptions & options = kFewThreads) {
    OpCheck check(64u << 20);
    ggml_tensor * kernel = check.input(c.type, {c.kernel, c.kernel, c.kernel_depth, int64_t(c.ic) * c.oc});
    ggml_tensor * data =
        check.input(GGML_TYPE_F32, {c.width, c.height, c.depth, int64_t(c.ic) * c.batch}, c.layout);
    ggml_tensor * out =
        ggml_conv_3d_direct(check.ctx(), kernel, data, c.x.stride, c.y.stride, c.z.stride, c.x.pad, c.y.pad,
                            c.z.pad, c.x.dilation, c.y.dilation, c.z.dilation, c.ic, c.batch, c.oc);
    check.check(out, sum_tolerance(c.ic * c.kernel * c.kernel * c.kernel_depth), options);
}

TEST(conv_3d, matches_the_reference_for_mixes_of_stride_padding_and_dilation) {
    for (int stride : {1, 2}) {
        for (int pad : {0, 2}) {
            for (int dilation : {1, 2}) {
                for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
                    expect_matches(Case3d{.type = type,
                                          .batch = 2,
                                          .x = {stride, pad, dilation},
                                          .y = {3 - stride, 1, 1},
                                          .z = {stride, pad, 3 - dilation}});
                }
            }
        }
    }
}

TEST(conv_3d, takes_flat_kernels_and_single_planes) {
    expect_matches(Case3d{.kernel_depth = 1, .z = {}});
    expect_matches(Case3d{.kernel_depth = 1, .z = {2, 1, 1}});
    expect_matches(Case3d{.depth = 1, .kernel_depth = 3});
    expect_matches(
        Case3d{.kernel = 1, .kernel_depth = 4, .ic = 17, .oc = 9, .x = {}, .y = {}, .z = {1, 3, 1}});
    expect_matches(Case3d{.layout = Layout::permuted12});
    expect_matches(Case3d{.layout = Layout::transposed01});
}

TEST(conv_3d, joins_strips_of_rows_and_of_planes) {
    expect_matches(Case3d{.width = 90, .height = 80, .depth = 5, .ic = 32, .oc = 2}, {{1, 2}, false, true});
    expect_matches(Case3d{.width = 32, .height = 30, .depth = 17, .ic = 32, .oc = 2}, {{1, 2}, false, true});
}

TEST(conv, refuses_what_it_would_compute_wrongly) {
    OpCheck check;
    const cpu::OpKernels * kernels = cpu::find_kernels(GGML_OP_CONV_2D);
    ASSERT_NE(kernels, nullptr);
    EXPECT_TRUE(kernels->supports(build(check, {})));
    EXPECT_TRUE(kernels->supports(build(check, {.type = GGML_TYPE_F16})));
    EXPECT_FALSE(kernels->supports(build(check, {.type = GGML_TYPE_BF16})));
    ggml_tensor * wrong = build(check, {});
    wrong->ne[0] += 1; // more outputs than the input has room for
    EXPECT_FALSE(kernels->supports(wrong));
}

} // namespace
} // namespace ggml::test
