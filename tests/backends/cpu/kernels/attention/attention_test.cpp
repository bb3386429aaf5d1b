#include "backends/cpu/kernel.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

// Values lie in [-1, 1], and so does every weighted mean of them: what is left is rounding of scores and
// weights.
constexpr Tolerance kClose{5e-6, 0, 0};
const RunOptions kFewThreads{{1, 3}, true, true};

enum class Mask { none, random, causal, scattered };

struct Case {
    ggml_type kv = GGML_TYPE_F16;
    int64_t d = 64, dv = 64, n_q = 40, n_kv = 150, heads = 2, k_heads = 2, v_heads = 0, batch = 1;
    Mask mask = Mask::none;
    float max_bias = 0, softcap = 0;
    bool sinks = false;
    Layout q_layout = Layout::contiguous, kv_layout = Layout::contiguous;
    int64_t mask_heads = 1, mask_batch = 1;
};

ggml_tensor * make_mask(OpCheck & check, const Case & c) {
    // A few more keys and queries than needed: the mask may be larger.
    ggml_tensor * mask = check.input(GGML_TYPE_F16, {c.n_kv + 3, c.n_q + 2, c.mask_heads, c.mask_batch},
                                     Layout::contiguous, -2.0f, 2.0f);
    if (c.mask == Mask::random) return mask;
    for (int64_t b = 0; b < c.mask_batch; ++b) {
        for (int64_t h = 0; h < c.mask_heads; ++h) {
            for (int64_t i = 0; i < c.n_q; ++i) {
                for (int64_t j = 0; j < c.n_kv; ++j) {
                    if (c.mask == Mask::causal) {
                        set_element(mask, j, i, h, b, j > i + c.n_kv - c.n_q ? -INFINITY : 0);
                    } else if ((i * 7 + j * 13 + h + b) % 5 < 2 || i % 9 == 4) {
                        set_element(mask, j, i, h, b, -INFINITY);
                    }
                }
            }
        }
    }
    return mask;
}

ggml_tensor * build(OpCheck & check, const Case & c) {
    ggml_tensor * q = check.input(GGML_TYPE_F32, {c.d, c.n_q, c.heads, c.batch}, c.q_layout);
    ggml_tensor * k = check.input(c.kv, {c.d, c.n_kv, c.k_heads, c.batch}, c.kv_layout);
    ggml_tensor * v =
        check.input(c.kv, {c.dv, c.n_kv, c.v_heads ? c.v_heads : c.k_heads, c.batch}, c.kv_layout);
    ggml_tensor * mask = c.mask == Mask::none ? nullptr : make_mask(check, c);
    ggml_tensor * out =
        ggml_flash_attn_ext(check.ctx(), q, k, v, mask, 2.0f / std::sqrt(float(c.d)), c.max_bias, c.softcap);
    if (c.sinks) ggml_flash_attn_ext_add_sinks(out, check.input(GGML_TYPE_F32, {c.heads, 1, 1, 1}));
    return out;
}

void expect_matches(const Case & c, const RunOptions & options = kFewThreads) {
    SCOPED_TRACE(testing::Message() << ggml_type_name(c.kv) << " d " << c.d << " dv " << c.dv << " n_q "
                                    << c.n_q << " n_kv " << c.n_kv << " heads " << c.heads << "/" << c.k_heads
                                    << " mask " << int(c.mask) << " kv " << layout_name(c.kv_layout));
    OpCheck check(64u << 20);
    check.check(build(check, c), kClose, options);
}

TEST(flash_attn, matches_the_reference_for_every_head_size) {
    for (int64_t d : {1, 3, 40, 64, 72, 80, 96, 112, 128, 192, 256}) {
        for (int64_t n_q : {33, 2}) expect_matches({.d = d, .dv = d, .n_q = n_q});
    }
    expect_matches({.d = 37, .dv = 19});
    expect_matches({.d = 5, .dv = 131, .n_q = 2});
    expect_matches({.d = 192, .dv = 128, .n_q = 1});
    expect_matches({.d = 576, .dv = 512, .n_q = 9, .n_kv = 70});
}

TEST(flash_attn, matches_the_reference_for_every_type_and_layout) {
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16}) {
        for (Layout layout :
             {Layout::contiguous, Layout::padded_rows, Layout::permuted12, Layout::permuted23}) {
            for (int64_t n_q : {1, 5, 50}) {
                expect_matches({.kv = type,
                                .d = 40,
                                .dv = 24,
                                .n_q = n_q,
                                .heads = 4,
                                .batch = 2,
                                .q_layout = layout,
                                .kv_layout = layout});
            }
        }
    }
}

TEST(flash_attn, matches_the_reference_for_quantized_keys_and_values) {
    for (ggml_type type : {GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q5_1}) {
        for (int64_t n_q : {1, 33})
            expect_matches({.kv = type, .d = 96, .dv = 32, .n_q = n_q, .mask = Mask::causal});
    }
}

TEST(flash_attn, shares_heads_of_k_and_of_v_separately) {
    for (int64_t n_q : {1, 2, 19}) {
        expect_matches({.n_q = n_q, .heads = 8, .k_heads = 2});
        expect_matches({.n_q = n_q, .heads = 8, .k_heads = 1, .batch = 3});
        expect_matches({.n_q = n_q, .heads = 8, .k_heads = 2, .v_heads = 4});
        expect_matches({.n_q = n_q, .heads = 12, .k_heads = 4, .v_heads = 3});
    }
}

TEST(flash_attn, adds_masks_and_repeats_them_over_heads_and_batches) {
    for (Mask mask : {Mask::random, Mask::causal, Mask::scattered}) {
        for (int64_t n_q : {1, 3, 50}) {
            expect_matches({.n_q = n_q, .n_kv = 300, .mask = mask});
            expect_matches({.n_q = n_q, .heads = 4, .k_heads = 2, .batch = 2, .mask = mask, .mask_heads = 2});
            expect_matches({.n_q = n_q,
                            .heads = 4,
                            .k_heads = 2,
                            .batch = 2,
                            .mask = mask,
                            .mask_heads = 4,
                            .mask_batch = 2});
        }
    }
}

TEST(flash_attn, applies_alibi_softcap_and_sinks_together) {
    for (int64_t n_q : {1, 2, 40}) {
        for (int variant = 1; variant < 8; ++variant) {
            expect_matches({.kv = GGML_TYPE_F32,
                            .n_q = n_q,
                            .heads = 6,
                            .k_heads = 3,
                            .mask = Mask::scattered,
                            .max_bias = variant & 1 ? 8.0f : 0.0f,
                            .softcap = variant & 2 ? 1.5f : 0.0f,
                            .sinks = (variant & 4) != 0});
        }
    }
}

TEST(flash_attn, handles_sizes_around_every_block_boundary) {
    for (int64_t n_q : {1, 4, 8, 9, 31, 32, 33, 65}) {
        for (int64_t n_kv : {1, 2, 7, 127, 128, 129, 257}) {
            expect_matches({.d = 16, .dv = 16, .n_q = n_q, .n_kv = n_kv, .heads = 1, .k_heads = 1});
        }
    }
}

TEST(flash_attn, takes_operands_that_start_at_any_element) {
    // Seven tokens of heads of 20 elements, one element past whatever the memory is aligned to.
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        OpCheck check;
        const auto shifted = [&](ggml_type t) {
            ggml_tensor * owner = check.input(t, {21, 7, 3, 1});
            return ggml_view_4d(check.ctx(), owner, 20, 7, 3, 1, owner->nb[1], owner->nb[2], owner->nb[3],
                                ggml_type_size(t));
        };
        check.check(ggml_flash_attn_ext(check.ctx(), shifted(GGML_TYPE_F32), shifted(type), shifted(type),
                                        nullptr, 0.2f, 0, 0),
                    kClose);
    }
}

TEST(flash_attn, takes_more_than_65535_queries_and_heads) {
    OpCheck check(64u << 20);
    ggml_context * ctx = check.ctx();
    const RunOptions two{{1, 2}, false, true};
    check.check(ggml_flash_attn_ext(ctx, check.input(GGML_TYPE_F32, {4, 70001, 1, 1}),
                                    check.input(GGML_TYPE_F16, {4, 2, 1, 1}),
                                    check.input(GGML_TYPE_F16, {4, 2, 1, 1}), nullptr, 0.5f, 0, 0),
                kClose, two);
    check.check(ggml_flash_attn_ext(ctx, check.input(GGML_TYPE_F32, {4, 1, 70001, 1}),
                                    check.input(GGML_TYPE_F16, {4, 2, 1, 1}),
                                    check.input(GGML_TYPE_F16, {4, 2, 1, 1}), nullptr, 0.5f, 0, 0),
                kClose, two);
}

TEST(flash_attn, splits_long_sequences_of_keys) {
    for (int64_t n_kv : {511, 512, 513, 1025, 40000}) {
        expect_matches({.d = 8,
                        .dv = 8,
                        .n_q = 1,
                        .n_kv = n_kv,
                        .mask = n_kv < 2000 ? Mask::causal : Mask::none,
                        .sinks = true});
    }
}

TEST(flash_attn, gives_the_same_bytes_for_one_to_eight_threads) {
    const RunOptions all{{1, 2, 3, 4, 5, 6, 7, 8}, false, true};
    expect_matches({.n_q = 300, .n_kv = 300, .heads = 4, .k_heads = 2, .mask = Mask::causal}, all);
    expect_matches({.n_q = 2, .n_kv = 3000, .heads = 4, .k_heads = 2, .mask = Mask::causal}, all);
}

TEST(flash_attn, a_query_that_sees_nothing_gives_zero) {
    for (int64_t n_q : {2, 40}) {
        OpCheck check;
        ggml_tensor * mask = check.input(GGML_TYPE_F16, {150, n_q, 1, 1});
        for (int64_t j = 0; j < 150; ++j) set_element(mask, j, 1, 0, 0, -INFINITY);
        ggml_tensor * out =
            ggml_flash_attn_ext(check.ctx(), check.input(GGML_TYPE_F32, {64, n_q, 1, 1}),
                                check.input(GGML_TYPE_F16, {64, 150, 1, 1}),
                                check.input(GGML_TYPE_F16, {64, 150, 1, 1}), mask, 0.125f, 0, 0);
        check.check(out, kClose);
        const std::vector<double> values = check.compute(out, false);
        for (int64_t e = 0; e < 64; ++e) EXPECT_EQ(values[size_t(64 + e)], 0.0);
    }
}

TEST(flash_attn, without_keys_gives_zero) {
    for (int64_t n_q : {1, 40}) {
        OpCheck check;
        ggml_tensor * out = build(check, {.n_q = n_q, .n_kv = 0});
        check.check(out, kExact);
        for (double v : check.compute(out, false)) ASSERT_EQ(v, 0.0);
    }
}

TEST(flash_attn, without_queries_has_nothing_to_do) {
    OpCheck check;
    ggml_tensor * out = build(check, {.n_q = 0});
    EXPECT_TRUE(cpu::find_kernels(GGML_OP_FLASH_ATTN_EXT)->supports(out));
    EXPECT_TRUE(check.compute(out, false, 2).empty());
}

TEST(flash_attn, never_reads_what_a_mask_hides) {
    for (int64_t n_q : {1, 3, 40}) {
        for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
            OpCheck check;
            ggml_tensor * q = check.input(GGML_TYPE_F32, {32, n_q, 1, 1});
            ggml_tensor * k = check.input(type, {32, 200, 1, 1});
            ggml_tensor * v = check.input(type, {32, 200, 1, 1});
            ggml_tensor * mask = check.input(GGML_TYPE_F16, {200, n_q, 1, 1});
            // Key 20 is hidden from all but query 0 (from all, when there is one query), key 190 from
            // everybody.
            for (int64_t i = 0; i < n_q; ++i) {
                if (i > 0 || n_q == 1) set_element(mask, 20, i, 0, 0, -INFINITY);
                set_element(mask, 190, i, 0, 0, -INFINITY);
            }
            for (int64_t j : {20, 190}) {
                set_element(v, 3, j, 0, 0, INFINITY);
                set_element(v, 4, j, 0, 0, NAN);
            }
            set_element(k, 5, 190, 0, 0, NAN);
            ggml_tensor * out = ggml_flash_attn_ext(check.ctx(), q, k, v, mask, 0.2f, 0, 0);
            check.check(out, kClose, kFewThreads);
            const std::vector<double> values = check.compute(out, false);
            for (size_t i = n_q == 1 ? 0 : 32; i < values.size(); ++i)
                ASSERT_TRUE(std::isfinite(values[i])) << i;
        }
    }
}

TEST(flash_attn, passes_nan_and_infinity_on) {
    for (int64_t n_q : {2, 40}) {
        OpCheck check;
        ggml_tensor * q = check.input(GGML_TYPE_F32, {32, n_q, 3, 1});
        ggml_tensor * k = check.input(GGML_TYPE_F32, {32, 200, 3, 1});
        ggml_tensor * v = check.input(GGML_TYPE_F32, {32, 200, 3, 1});
        set_element(q, 7, 1, 0, 0, NAN);        // one query of head 0
        set_element(v, 2, 150, 1, 0, INFINITY); // one column of head 1
        set_element(k, 2, 150, 2, 0, NAN);      // all of head 2
        ggml_tensor * out = ggml_flash_attn_ext(check.ctx(), q, k, v, nullptr, 0.2f, 0, 0);
        check.check(out, kClose, kFewThreads);
        const std::vector<double> values = check.compute(out, false); // [32, head, query]
        EXPECT_TRUE(std::isfinite(values[0]));
        EXPECT_TRUE(std::isnan(values[3 * 32]));
        EXPECT_EQ(values[32 + 2], INFINITY);
        EXPECT_TRUE(std::isnan(values[64]));
    }
}

TEST(flash_attn, takes_scores_beyond_the_range_of_exp) {
    for (int64_t n_q : {1, 40}) {
        OpCheck check;
        ggml_tensor * q = check.input(GGML_TYPE_F32, {16, n_q, 2, 1}, Layout::contiguous, -50.0f, 50.0f);
        ggml_tensor * k = check.input(GGML_TYPE_F32, {16, 300, 2, 1}, Layout::contiguous, -50.0f, 50.0f);
        ggml_tensor * v = check.input(GGML_TYPE_F32, {16, 300, 2, 1});
        // Scores of some thousand carry an absolute error of about 1e-3, which is the weights' relative
        // error.
        check.check(ggml_flash_attn_ext(check.ctx(), q, k, v, nullptr, 1.0f, 0, 0), {5e-3, 0, 0},
                    kFewThreads);
    }
}

// Two keys with scores 0 and log 3: weights 1/4 and 3/4.
ggml_tensor * two_keys(OpCheck & check, float scale, float softcap) {
    ggml_tensor * q = check.values({1, 5}, {2, 1, 1, 1});
    ggml_tensor * k = check.values({0, 0, std::log(3.0f), 0}, {2, 2, 1, 1});
    ggml_tensor * v = check.values({0, 4, 8, 4}, {2, 2, 1, 1});
    return ggml_flash_attn_ext(check.ctx(), q, k, v, nullptr, scale, 0, softcap);
}

TEST(flash_attn, gives_hand_computed_values) {
    for (bool use_ref : {true, false}) {
        OpCheck check;
        expect_close(check.compute(two_keys(check, 1, 0), use_ref), {6, 4}, {1e-5, 0, 0}, "plain");

        ggml_tensor * with_sink = two_keys(check, 1, 0);
        ggml_flash_attn_ext_add_sinks(with_sink, check.values({0}, {1, 1, 1, 1}));
        // The sink's weight is exp(0) = 1: the sum is 1 + 3 + 1.
        expect_close(check.compute(with_sink, use_ref), {24.0 / 5, 16.0 / 5}, {1e-5, 0, 0}, "sink");

        // softcap 2 and scale 2: scores 0 and 2 tanh(log 3) = 2 * 0.8.
        const double w = std::exp(1.6);
        expect_close(check.compute(two_keys(check, 2, 2), use_ref), {8 * w / (1 + w), 4}, {1e-5, 0, 0},
                     "softcap");
    }
}

TEST(flash_attn, gives_each_head_its_alibi_slope) {
    // Three heads and max_bias 8: slopes 2^-4 and 2^-8 for the first two, 2^-2 for the third. With mask
    // values 0 and -16 and equal scores the biases are -1, -1/16 and -4.
    for (bool use_ref : {true, false}) {
        OpCheck check;
        ggml_tensor * q = check.values({0, 0, 0}, {1, 1, 3, 1});
        ggml_tensor * k = check.values({1, 1}, {1, 2, 1, 1});
        ggml_tensor * v = check.values({0, 1}, {1, 2, 1, 1});
        ggml_tensor * mask = check.input(GGML_TYPE_F16, {2, 1, 1, 1});
        set_element(mask, 0, 0, 0, 0, 0);
        set_element(mask, 1, 0, 0, 0, -16);
        ggml_tensor * out = ggml_flash_attn_ext(check.ctx(), q, k, v, mask, 1, 8, 0);
        std::vector<double> expected;
        for (double bias : {-1.0, -1.0 / 16, -4.0}) expected.push_back(std::exp(bias) / (1 + std::exp(bias)));
        expect_close(check.compute(out, use_ref), expected, {1e-6, 0, 0}, "alibi");
    }
}

TEST(flash_attn, refuses_rows_whose_elements_do_not_lie_side_by_side) {
    OpCheck check;
    const cpu::OpKernels * kernels = cpu::find_kernels(GGML_OP_FLASH_ATTN_EXT);
    ASSERT_NE(kernels, nullptr);
    EXPECT_TRUE(kernels->supports(build(check, {})));
    EXPECT_FALSE(kernels->supports(build(check, {.q_layout = Layout::transposed01})));
    EXPECT_FALSE(kernels->supports(build(check, {.kv_layout = Layout::transposed01})));
}

} // namespace
} // namespace ggml::test
