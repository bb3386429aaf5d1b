// Convolutions with infinite or NaN values, and of extreme sizes.
#include "backends/cpu/kernel.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

const RunOptions kFewThreads{{1, 3}, false, true};
const Tolerance kClose{1e-5, 1e-6, 0};

const float kBad[] = {INFINITY, -INFINITY, NAN};

// Random values without zeros (an infinity times zero is NaN wherever it is computed, but hides nothing).
ggml_tensor * positive(OpCheck & check, ggml_type type, Shape ne) {
    return check.input(type, ne, Layout::contiguous, 0.25f, 1.0f);
}

struct Step {
    int stride, pad, dilation;
};

TEST(conv_2d, weights_that_are_not_finite_meet_the_input_only_and_never_the_padding) {
    for (const Step & x : {Step{1, 1, 1}, Step{1, 0, 1}, Step{2, 3, 1}, Step{1, 2, 2}, Step{3, 4, 3}}) {
        for (const Step & y : {Step{1, 1, 1}, Step{2, 2, 1}, Step{1, 0, 1}}) {
            for (int tap : {0, 4, 8}) {
                const float bad = kBad[(tap + x.pad + y.pad) % 3];
                OpCheck check;
                ggml_tensor * kernel =
                    positive(check, (x.pad + tap) % 2 == 0 ? GGML_TYPE_F32 : GGML_TYPE_F16, {3, 3, 3, 19});
                set_element(kernel, tap % 3, tap / 3, 1, 17, bad);
                ggml_tensor * data = positive(check, GGML_TYPE_F32, {11, 9, 3, 2});
                check.check(ggml_conv_2d_direct(check.ctx(), kernel, data, x.stride, y.stride, x.pad, y.pad,
                                                x.dilation, y.dilation),
                            kClose, kFewThreads);
            }
        }
    }
}

TEST(conv_2d, an_infinite_weight_over_padding_leaves_a_hand_computed_sum) {
    for (bool use_ref : {true, false}) {
        OpCheck check;
        ggml_tensor * kernel = check.values({INFINITY, 1, 10}, {3, 1, 1, 1});
        ggml_tensor * data = check.values({1, 2, 3}, {3, 1, 1, 1});
        const double inf = INFINITY;
        expect_close(check.compute(ggml_conv_2d_direct(check.ctx(), kernel, data, 1, 1, 1, 0, 1, 1), use_ref),
                     {21, inf, inf}, kExact, "left");
        expect_close(check.compute(ggml_conv_2d_direct(check.ctx(), kernel, data, 1, 1, 1, 1, 1, 1), use_ref),
                     {0, 0, 0, 21, inf, inf, 0, 0, 0}, kExact, "left, above and below");
    }
}

TEST(conv_2d, data_that_is_not_finite_stays_under_the_kernel_for_every_channel_count) {
    for (int64_t channels : {1, 3, 8, 15, 17}) {
        for (int pad : {0, 1, 2}) {
            OpCheck check;
            ggml_tensor * data = positive(check, GGML_TYPE_F32, {10, 9, channels, 1});
            set_element(data, 0, 3, channels - 1, 0, INFINITY);
            set_element(data, 9, 8, 0, 0, NAN);
            check.check(ggml_conv_2d_direct(check.ctx(), positive(check, GGML_TYPE_F32, {3, 3, channels, 5}),
                                            data, 1, 1, pad, pad, 1, 1),
                        kClose, kFewThreads);
        }
    }
}

TEST(conv_3d, weights_that_are_not_finite_meet_the_input_only_and_never_the_padding) {
    for (int tap : {0, 13, 26}) {
        for (const Step & z : {Step{1, 1, 1}, Step{1, 0, 1}, Step{2, 3, 2}}) {
            for (int pad : {0, 1, 2}) {
                OpCheck check;
                ggml_tensor * kernel = positive(check, GGML_TYPE_F32, {3, 3, 3, 2 * 5});
                set_element(kernel, tap % 3, tap / 3 % 3, tap / 9, 2 * 3 + 1, kBad[(tap + pad) % 3]);
                ggml_tensor * data = positive(check, GGML_TYPE_F32, {7, 6, 5, 2 * 2});
                check.check(ggml_conv_3d_direct(check.ctx(), kernel, data, 1, 2, z.stride, pad, 1, z.pad, 1,
                                                1, z.dilation, 2, 2, 5),
                            kClose, kFewThreads);
            }
        }
    }
}

TEST(conv_2d_dw, weights_that_are_not_finite_meet_the_input_only_and_never_the_padding) {
    for (bool channels_last : {false, true}) {
        for (int stride : {1, 2, 3}) {
            for (int tap : {0, 4, 8}) {
                OpCheck check;
                ggml_tensor * kernel = positive(check, GGML_TYPE_F32, {3, 3, 1, 6});
                set_element(kernel, tap % 3, tap / 3, 0, 4, kBad[(tap + stride) % 3]);
                ggml_tensor * data =
                    channels_last
                        ? ggml_permute(check.ctx(), positive(check, GGML_TYPE_F32, {6, 40, 7, 2}), 2, 0, 1, 3)
                        : positive(check, GGML_TYPE_F32, {40, 7, 6, 2});
                check.check(
                    ggml_conv_2d_dw_direct(check.ctx(), kernel, data, stride, stride, 2, 1, 1 + tap / 4, 1),
                    kClose, {{1, 3}, true, true});
            }
        }
    }
}

TEST(conv_transpose, values_that_are_not_finite_reach_only_the_outputs_they_are_added_to) {
    for (float bad : kBad) {
        for (int stride : {1, 2, 4}) {
            OpCheck check;
            ggml_tensor * taps = positive(check, GGML_TYPE_F32, {3, 2, 3, 2});
            set_element(taps, 2, 1, 1, 1, bad);
            ggml_tensor * image = positive(check, GGML_TYPE_F32, {6, 5, 2, 2});
            set_element(image, 5, 2, 0, 1, bad);
            check.check(ggml_conv_transpose_2d_p0(check.ctx(), taps, image, stride), kClose, kFewThreads);
            ggml_tensor * kernel = positive(check, GGML_TYPE_F32, {4, 3, 2, 1});
            set_element(kernel, 0, 2, 1, 0, bad);
            check.check(ggml_conv_transpose_1d(check.ctx(), kernel,
                                               positive(check, GGML_TYPE_F32, {50, 2, 1, 1}), stride, 0, 1),
                        kClose, kFewThreads);
        }
    }
}

TEST(conv_2d, joins_the_strips_of_rows_that_are_cut) {
    for (const Step & x : {Step{1, 1, 1}, Step{1, 0, 1}, Step{1, 7, 3}, Step{2, 2, 1}, Step{600, 1, 2}}) {
        OpCheck check(64u << 20);
        ggml_tensor * data = check.input(GGML_TYPE_F32, {x.stride == 1 ? 8300 : 33001, 2, 3, 2});
        ggml_tensor * kernel = check.input(GGML_TYPE_F32, {3, 2, 3, 5});
        check.check(ggml_conv_2d_direct(check.ctx(), kernel, data, x.stride, 1, x.pad, 1, x.dilation, 1),
                    kClose, {{1, 2, 3, 8}, false, true});
    }
}

TEST(conv_2d, padding_as_wide_as_many_strips_gives_zeros) {
    OpCheck check(64u << 20);
    check.check(ggml_conv_2d_direct(check.ctx(), check.input(GGML_TYPE_F32, {3, 1, 2, 4}),
                                    check.input(GGML_TYPE_F32, {5, 2, 2, 1}), 1, 1, 9000, 0, 1, 1),
                kClose, kFewThreads);
}

TEST(conv_2d, kernels_dilated_far_beyond_the_image_are_plain_sums_without_scratch) {
    // Taps 2^28 rows apart: a strip of input under them would have gigabytes of zeros.
    constexpr int kFar = 1 << 28;
    OpCheck check;
    ggml_tensor * out =
        ggml_conv_2d_direct(check.ctx(), check.input(GGML_TYPE_F32, {2, 2, 2, 3}),
                            check.input(GGML_TYPE_F32, {3, 2, 2, 2}), 1, kFar / 2, 1, kFar, 1, kFar);
    ASSERT_EQ(out->ne[1], 3);
    EXPECT_EQ(cpu::find_kernels(GGML_OP_CONV_2D)->scratch(out, 8), 0u);
    check.check(out, {1e-6, 0, 0}, kFewThreads);
}

TEST(conv_2d, takes_more_than_65535_rows_and_images) {
    for (const Shape & image : {Shape{2, 70001, 1, 1}, Shape{2, 3, 1, 70001}}) {
        OpCheck check(64u << 20);
        ggml_tensor * data = check.input(GGML_TYPE_F32, image);
        check.check(ggml_conv_2d_direct(check.ctx(), check.input(GGML_TYPE_F32, {3, 3, 1, 2}), data, 1, 1, 1,
                                        1, 1, 1),
                    kClose, kFewThreads);
        check.check(ggml_conv_2d_dw_direct(check.ctx(), check.input(GGML_TYPE_F32, {3, 3, 1, 1}), data, 1, 1,
                                           1, 1, 1, 1),
                    kClose, kFewThreads);
    }
}

size_t scratch_of(ggml_tensor * node, int n_threads) {
    const cpu::OpKernels * kernels = cpu::find_kernels(node->op);
    EXPECT_TRUE(kernels->supports(node));
    return kernels->scratch(node, n_threads);
}

TEST(conv_2d, planning_a_huge_image_asks_for_little_scratch_and_a_huge_kernel_for_none) {
    OpCheck check;
    ggml_context * ctx = check.ctx();
    ggml_set_no_alloc(ctx, true);
    ggml_tensor * image = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 1000000, 1000000, 16, 1);
    for (int64_t k : {1, 3, 31}) {
        ggml_tensor * kernel = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, k, k, 16, 16);
        for (int dilation : {1, 5}) {
            EXPECT_LT(scratch_of(ggml_conv_2d_direct(ctx, kernel, image, 1, 1, 1, 1, dilation, dilation), 1),
                      size_t(64) << 20);
        }
    }
    ggml_tensor * huge = ggml_new_tensor_4d(ctx, GGML_TYPE_F16, 100000, 100000, 16, 16);
    EXPECT_EQ(scratch_of(ggml_conv_2d_direct(ctx, huge, image, 1, 1, 1, 1, 1, 1), 8), 0u);
    // Products of these sizes exceed 2^64.
    ggml_tensor * channels = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 1 << 20, 1, 1 << 20, 1 << 20);
    EXPECT_EQ(
        scratch_of(ggml_conv_2d_direct(ctx, channels, channels, 1 << 30, 1 << 30, 1 << 19, 1 << 29, 1, 1), 8),
        0u);
    ggml_tensor * volume = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 1 << 20, 1 << 20, 1000, 16);
    ggml_tensor * small = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 3, 3, 3, 16 * 16);
    EXPECT_LT(scratch_of(ggml_conv_3d_direct(ctx, small, volume, 1, 1, 1, 1, 1, 1, 1, 1, 1, 16, 1, 16), 1),
              size_t(64) << 20);
}

} // namespace
} // namespace ggml::test
