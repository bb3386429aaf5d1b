#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

// The kernel rounds t - max to float, a relative error of |t - max| 2^-24 in the exponential (at most 2^-19
// for the logits here, which span less than 32), plus a few ulp; weights below the smallest normal float are
// flushed.
constexpr Tolerance kTolerance{1.2e-38, 0x1p-19, 0};

TEST(softmax, rows_of_any_length_match_the_reference) {
    for (int64_t n : {1, 2, 31, 97, 1031, 2048}) {
        OpCheck check;
        ggml_tensor * x = check.input(GGML_TYPE_F32, {n, 7, 3, 2}, Layout::contiguous, -9, 9);
        check.check(ggml_soft_max(check.ctx(), x), kTolerance);
    }
}

TEST(softmax, masks_of_both_types_repeat_over_heads_and_batch) {
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        const Shape masks[] = {{1030, 5, 1, 1}, {1030, 9, 2, 1}, {1030, 5, 4, 3}, {1030, 5, 1, 3}};
        for (const Shape & ne : masks) {
            OpCheck check;
            ggml_tensor * x = check.input(GGML_TYPE_F32, {1030, 5, 4, 3}, Layout::contiguous, -9, 9);
            ggml_tensor * mask = check.input(type, ne, Layout::contiguous, -2, 2);
            set_element(mask, 3, 1, 0, 0, -HUGE_VAL);
            check.check(ggml_soft_max_ext(check.ctx(), x, mask, 0.25f, 0.0f), kTolerance, {{1, 3}});
        }
    }
}

TEST(softmax, alibi_slopes_for_any_number_of_heads_match_the_reference) {
    for (int64_t heads : {1, 8, 12}) {
        OpCheck check;
        ggml_tensor * x = check.input(GGML_TYPE_F32, {67, 5, heads, 1}, Layout::contiguous, -4, 4);
        ggml_tensor * mask = check.input(GGML_TYPE_F32, {67, 5, 1, 1}, Layout::contiguous, -4, 0);
        check.check(ggml_soft_max_ext(check.ctx(), x, mask, 0.5f, 8.0f), kTolerance);
    }
}

TEST(softmax, sinks_take_weight_without_an_output) {
    OpCheck check;
    ggml_tensor * x = check.input(GGML_TYPE_F32, {1100, 3, 6, 2}, Layout::contiguous, -4, 4);
    ggml_tensor * y = ggml_soft_max(check.ctx(), x);
    ggml_soft_max_add_sinks(y, check.input(GGML_TYPE_F32, {6, 1, 1, 1}, Layout::contiguous, 2, 12));
    check.check(y, kTolerance);
    EXPECT_LT(check.compute(y, false)[0], 1.0);
}

TEST(softmax, in_place_variants_match) {
    OpCheck check;
    ggml_tensor * x = check.input(GGML_TYPE_F32, {1500, 9, 2, 1}, Layout::contiguous, -9, 9);
    check.check(ggml_soft_max_inplace(check.ctx(), x), kTolerance);
    ggml_tensor * z = check.input(GGML_TYPE_F32, {1500, 9, 2, 1}, Layout::contiguous, -9, 9);
    ggml_tensor * mask = check.input(GGML_TYPE_F16, {1500, 9, 1, 1});
    // Scaled by 2 the logits span up to 40.
    check.check(ggml_soft_max_ext_inplace(check.ctx(), z, mask, 2.0f, 0.0f), {1.2e-38, 0x1p-18, 0});
}

TEST(softmax, many_rows_and_empty_tensors_work) {
    OpCheck check;
    check.check(ggml_soft_max(check.ctx(), check.input(GGML_TYPE_F32, {3, 70001, 1, 1})), kTolerance,
                {{1, 8}});
    ggml_tensor * empty = check.input(GGML_TYPE_F32, {3, 0, 1, 1});
    EXPECT_TRUE(check.compute(ggml_soft_max(check.ctx(), empty), false).empty());
}

TEST(softmax, huge_logits_and_far_tails_stay_finite) {
    OpCheck check;
    ggml_tensor * x =
        check.values({3e38f, -3e38f, 0, 1, 1000, 900, 920, 1000, 0, -80, -100, -120}, {4, 3, 1, 1});
    check.check(ggml_soft_max(check.ctx(), x), {1.2e-38, 0x1p-17, 0});
}

TEST(softmax, nan_infinity_and_fully_masked_rows_spoil_their_own_row_only) {
    OpCheck check;
    const float inf = HUGE_VALF;
    ggml_tensor * x = check.values({1, 2, NAN, -inf, -inf, -inf, 1, inf, 2, 1, 2, -inf}, {3, 4, 1, 1});
    ggml_tensor * y = ggml_soft_max(check.ctx(), x);
    check.check(y, kTolerance);
    const std::vector<double> out = check.compute(y, false);
    for (int i = 0; i < 9; ++i) EXPECT_TRUE(std::isnan(out[size_t(i)])) << i;
    EXPECT_NEAR(out[9] + out[10], 1.0, 1e-6);
    EXPECT_EQ(out[11], 0.0);
}

TEST(softmax, a_fully_masked_row_with_a_sink_has_no_weight) {
    OpCheck check;
    ggml_tensor * y = ggml_soft_max(check.ctx(), check.values({-HUGE_VALF, -HUGE_VALF}, {2, 1, 1, 1}));
    ggml_soft_max_add_sinks(y, check.values({0.5f}, {1, 1, 1, 1}));
    check.check(y, kExact);
    expect_close(check.compute(y, false), {0, 0}, kExact, "masked row");
}

TEST(softmax, hand_computed_values_check_the_reference_itself) {
    OpCheck check;
    ggml_context * ctx = check.ctx();
    const auto x = [&] { return check.values({0, std::log(2.0f), std::log(3.0f)}, {3, 1, 1, 1}); };
    const Tolerance close{1e-7, 0, 0};
    expect_close(check.compute(ggml_soft_max(ctx, x()), true), {1.0 / 6, 2.0 / 6, 3.0 / 6}, close, "plain");
    // Scale 2 squares the weights: 1, 4, 9; the mask removes the middle one.
    ggml_tensor * mask = check.values({0, -HUGE_VALF, 0}, {3, 1, 1, 1});
    expect_close(check.compute(ggml_soft_max_ext(ctx, x(), mask, 2.0f, 0), true), {0.1, 0, 0.9}, close,
                 "masked");
    ggml_tensor * sunk = ggml_soft_max(ctx, x());
    ggml_soft_max_add_sinks(sunk, check.values({std::log(4.0f)}, {1, 1, 1, 1}));
    expect_close(check.compute(sunk, true), {0.1, 0.2, 0.3}, close, "with sink");
    // Three heads, max_bias 8: the base is 2 heads with slopes 2^-4, 2^-8; the third head gets 2^-2.
    const float bias = 16 * std::log(3.0f);
    ggml_tensor * zeros = check.values(std::vector<float>(6, 0.0f), {2, 1, 3, 1});
    ggml_tensor * heads = ggml_soft_max_ext(ctx, zeros, check.values({0, bias}, {2, 1, 1, 1}), 1.0f, 8.0f);
    const double a = std::pow(3.0, 1.0 / 16), b = 81.0;
    expect_close(check.compute(heads, true), {0.25, 0.75, 1 / (1 + a), a / (1 + a), 1 / (1 + b), b / (1 + b)},
                 {1e-6, 0, 0}, "alibi");
}

TEST(diag_mask, kernel_equals_reference_for_every_offset_and_layout) {
    for (int n_past : {0, 3, 2000}) {
        OpCheck check;
        ggml_tensor * x = check.input(GGML_TYPE_F32, {1037, 9, 2, 2});
        check.check(ggml_diag_mask_inf(check.ctx(), x, n_past), kExact);
        ggml_tensor * wide = check.input(GGML_TYPE_F32, {19, 23, 2, 2}, Layout::padded_rows);
        check.check(ggml_diag_mask_zero(check.ctx(), wide, n_past), kExact);
        ggml_tensor * in_place = check.input(GGML_TYPE_F32, {1037, 9, 2, 2});
        check.check(ggml_diag_mask_inf_inplace(check.ctx(), in_place, n_past), kExact);
    }
}

TEST(diag_mask, hand_computed_values_check_the_reference_itself) {
    OpCheck check;
    const auto x = [&] { return check.values({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2, 1, 1}); };
    const double inf = HUGE_VAL;
    expect_close(check.compute(ggml_diag_mask_inf(check.ctx(), x(), 1), true),
                 {1, 2, -inf, -inf, 5, 6, 7, -inf}, kExact, "inf");
    expect_close(check.compute(ggml_diag_mask_zero(check.ctx(), x(), 0), true), {1, 0, 0, 0, 5, 6, 0, 0},
                 kExact, "zero");
}

} // namespace
} // namespace ggml::test
