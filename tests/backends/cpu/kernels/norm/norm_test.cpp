#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

constexpr float kEps = 1e-5f;

// Sums are doubles on both sides; a mean or a factor may still round to the neighbouring float.
constexpr Tolerance kRows{0, 0, 2};
// A mean one ulp off moves values near the mean by up to an ulp of the mean times the factor.
constexpr Tolerance kCentered{5e-7, 0, 2};

std::vector<ggml_tensor *> build_all(ggml_context * ctx, ggml_tensor * x) {
    return {ggml_norm(ctx, x, kEps), ggml_rms_norm(ctx, x, kEps), ggml_l2_norm(ctx, x, kEps)};
}

const Tolerance & tolerance_of(const ggml_tensor * node) {
    return node->op == GGML_OP_NORM || node->op == GGML_OP_GROUP_NORM ? kCentered : kRows;
}

TEST(norm, every_layout_matches_the_reference) {
    for (Layout layout : {Layout::contiguous, Layout::padded_rows, Layout::transposed01, Layout::permuted12,
                          Layout::permuted23}) {
        SCOPED_TRACE(layout_name(layout));
        OpCheck check;
        ggml_tensor * x = check.input(GGML_TYPE_F32, {97, 5, 3, 2}, layout, -2, 3);
        for (ggml_tensor * y : build_all(check.ctx(), x)) check.check(y, tolerance_of(y));
    }
}

TEST(norm, rows_of_one_element_prime_length_and_several_blocks_match) {
    for (int64_t n : {1, 2, 17, 1023, 1025, 6151}) {
        OpCheck check;
        ggml_tensor * x = check.input(GGML_TYPE_F32, {n, 3, 1, 1}, Layout::contiguous, -2, 3);
        for (ggml_tensor * y : build_all(check.ctx(), x)) check.check(y, tolerance_of(y));
    }
}

TEST(norm, more_than_65535_rows_work) {
    OpCheck check;
    ggml_tensor * x = check.input(GGML_TYPE_F32, {5, 70001, 1, 1});
    check.check(ggml_rms_norm(check.ctx(), x, kEps), kRows, {{1, 2, 3, 4, 5, 6, 7, 8}});
}

TEST(norm, strides_do_not_change_the_bits) {
    OpCheck check;
    ggml_tensor * x = check.input(GGML_TYPE_F32, {3, 1500, 1, 1});
    ggml_tensor * strided = ggml_transpose(check.ctx(), x);
    const std::vector<double> elements = read_elements(strided);
    ggml_tensor * dense = check.values(std::vector<float>(elements.begin(), elements.end()), {1500, 3, 1, 1});
    expect_close(check.compute(ggml_norm(check.ctx(), strided, kEps), false),
                 check.compute(ggml_norm(check.ctx(), dense, kEps), false), kExact, "strided against dense");
}

TEST(norm, in_place_variants_match) {
    OpCheck check;
    const auto input = [&] { return check.input(GGML_TYPE_F32, {1301, 6, 1, 1}, Layout::contiguous, -2, 3); };
    check.check(ggml_norm_inplace(check.ctx(), input(), kEps), kCentered);
    check.check(ggml_rms_norm_inplace(check.ctx(), input(), kEps), kRows);
    check.check(ggml_l2_norm_inplace(check.ctx(), input(), kEps), kRows);
    ggml_tensor * x = check.input(GGML_TYPE_F32, {13, 11, 6, 1}, Layout::contiguous, -2, 3);
    check.check(ggml_group_norm_inplace(check.ctx(), x, 3, kEps), kCentered);
}

TEST(group_norm, even_and_uneven_groups_match_the_reference) {
    for (int groups : {1, 2, 3, 4, 7}) {
        for (Layout layout : {Layout::contiguous, Layout::padded_rows, Layout::permuted12}) {
            OpCheck check;
            ggml_tensor * x = check.input(GGML_TYPE_F32, {13, 11, 7, 2}, layout, -2, 3);
            check.check(ggml_group_norm(check.ctx(), x, groups, kEps), kCentered, {{1, 2, 3, 4, 5, 6, 7, 8}});
        }
    }
}

TEST(group_norm, threads_that_share_one_large_group_give_the_bytes_of_a_single_thread) {
    for (int groups : {1, 2}) {
        OpCheck check;
        ggml_tensor * x = check.input(GGML_TYPE_F32, {40, 900, 3, 1}, Layout::contiguous, -2, 3);
        check.check(ggml_group_norm(check.ctx(), x, groups, kEps), kCentered, {{1, 2, 3, 4, 5, 6, 7, 8}});
    }
}

TEST(norm, large_magnitudes_neither_overflow_nor_lose_the_result) {
    OpCheck check;
    const auto x = [&] { return check.values({3e30f, -4e30f, 0, 0}, {4, 1, 1, 1}); };
    // Squares are 1e61: representable only because sums are doubles.
    expect_close(check.compute(ggml_l2_norm(check.ctx(), x(), kEps), false), {0.6, -0.8, 0, 0}, {1e-6, 0, 0},
                 "l2");
    expect_close(check.compute(ggml_rms_norm(check.ctx(), x(), kEps), false), {1.2, -1.6, 0, 0}, {1e-6, 0, 0},
                 "rms");
    ggml_tensor * near = check.values({10000.0f, 10001.0f, 10002.0f, 10003.0f}, {4, 1, 1, 1});
    expect_close(check.compute(ggml_norm(check.ctx(), near, 0.0f), false),
                 {-1.3416407864998738, -0.4472135954999579, 0.4472135954999579, 1.3416407864998738},
                 {1e-6, 0, 0}, "norm of nearly equal values");
}

TEST(norm, one_nan_or_infinity_spoils_its_own_row_only) {
    for (float bad : {float(NAN), HUGE_VALF}) {
        OpCheck check;
        std::vector<float> values(3 * 19, 0.5f);
        values[0] = values[20] = values[40] = 1.5f;
        values[25] = bad;
        ggml_tensor * x = check.values(values, {19, 3, 1, 1});
        for (ggml_tensor * y : build_all(check.ctx(), x)) {
            check.check(y, tolerance_of(y));
            const std::vector<double> out = check.compute(y, false);
            EXPECT_TRUE(std::isnan(out[25]));
            EXPECT_TRUE(std::isfinite(out[18]) && std::isfinite(out[38]));
        }
    }
}

TEST(norm, hand_computed_values_check_the_reference_itself) {
    OpCheck check;
    ggml_context * ctx = check.ctx();
    const auto x = [&] { return check.values({1, 2, 3, 6}, {4, 1, 1, 1}); };
    // mean 3, variance 3.5; mean square 12.5; length sqrt(50)
    const double s = 1 / std::sqrt(3.5 + 0.5), q = 1 / std::sqrt(12.5 + 0.5), l = 1 / std::sqrt(50.0);
    expect_close(check.compute(ggml_norm(ctx, x(), 0.5f), true), {-2 * s, -s, 0, 3 * s}, {1e-7, 0, 0},
                 "norm");
    expect_close(check.compute(ggml_rms_norm(ctx, x(), 0.5f), true), {q, 2 * q, 3 * q, 6 * q}, {2e-7, 0, 0},
                 "rms");
    expect_close(check.compute(ggml_l2_norm(ctx, x(), 0.5f), true), {l, 2 * l, 3 * l, 6 * l}, {1e-7, 0, 0},
                 "l2");
    // A length below eps is replaced by eps.
    expect_close(check.compute(ggml_l2_norm(ctx, x(), 100.0f), true), {0.01, 0.02, 0.03, 0.06}, {1e-8, 0, 0},
                 "l2 eps");
    // Channels (1, 2), (3, 6) | (5, 5): two groups with means 3 and 5, variances 3.5 and 0.
    ggml_tensor * c = check.values({1, 2, 3, 6, 5, 5}, {2, 1, 3, 1});
    expect_close(check.compute(ggml_group_norm(ctx, c, 2, 0.5f), true), {-2 * s, -s, 0, 3 * s, 0, 0},
                 {1e-7, 0, 0}, "group_norm");
}

} // namespace
} // namespace ggml::test
