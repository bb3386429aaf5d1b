#include "runtime/ops/params.h"
#include "tests/support/log_capture.h"
#include "tests/support/op_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ggml::test {
namespace {

struct Options {
    int n_dims = 32, mode = GGML_ROPE_TYPE_NORMAL;
    int sections[4] = {4, 6, 6, 0};
    float freq_base = 10000.0f, freq_scale = 1.0f, ext_factor = 0.0f, attn_factor = 1.0f;
    float beta_fast = 32.0f, beta_slow = 1.0f;
    int n_ctx_orig = 4096;
    bool in_place = false;
};

ggml_tensor * rope(ggml_context * ctx, ggml_tensor * x, ggml_tensor * pos, Options o,
                   ggml_tensor * factors = nullptr) {
    if ((o.mode & GGML_ROPE_TYPE_MROPE) != 0) {
        return ggml_rope_multi(ctx, x, pos, factors, o.n_dims, o.sections, o.mode, o.n_ctx_orig, o.freq_base,
                               o.freq_scale, o.ext_factor, o.attn_factor, o.beta_fast, o.beta_slow);
    }
    return (o.in_place ? ggml_rope_ext_inplace
                       : ggml_rope_ext)(ctx, x, pos, factors, o.n_dims, o.mode, o.n_ctx_orig, o.freq_base,
                                        o.freq_scale, o.ext_factor, o.attn_factor, o.beta_fast, o.beta_slow);
}

ggml_tensor * positions(OpCheck & check, int64_t tokens, int mode, int64_t step = 37) {
    const int64_t axes = (mode & GGML_ROPE_TYPE_MROPE) != 0 ? 4 : 1;
    std::vector<int64_t> values;
    for (int64_t i = 0; i < tokens * axes; ++i) values.push_back((i * step) % 4001);
    return check.indices(values);
}

// cos and sin are within 1.6 ulp, elements within [-1, 1]: four rounded operations on top.
constexpr Tolerance kTolerance{4e-7, 0, 0};

const int kModes[] = {GGML_ROPE_TYPE_NORMAL, GGML_ROPE_TYPE_NEOX, GGML_ROPE_TYPE_MROPE, GGML_ROPE_TYPE_IMROPE,
                      GGML_ROPE_TYPE_VISION};

Shape shape_for(int mode) { return {mode == GGML_ROPE_TYPE_VISION ? 64 : 40, 3, 7, 2}; }

TEST(rope, every_mode_and_layout_matches_the_reference) {
    for (int mode : kModes) {
        for (Layout layout : {Layout::contiguous, Layout::padded_rows, Layout::permuted12}) {
            SCOPED_TRACE("mode " + std::to_string(mode) + " " + layout_name(layout));
            OpCheck check;
            Options o;
            o.mode = mode;
            ggml_tensor * x = check.input(GGML_TYPE_F32, shape_for(mode), layout);
            check.check(rope(check.ctx(), x, positions(check, 7, mode), o), kTolerance);
        }
    }
}

TEST(rope, half_types_are_rotated_as_floats_and_rounded_once) {
    for (int mode : kModes) {
        for (ggml_type type : {GGML_TYPE_F16, GGML_TYPE_BF16}) {
            OpCheck check;
            Options o;
            o.mode = mode;
            ggml_tensor * x = check.input(type, shape_for(mode), Layout::padded_rows);
            check.check(rope(check.ctx(), x, positions(check, 7, mode), o),
                        {4e-7, type == GGML_TYPE_F16 ? 0x1p-10 : 0x1p-7, 0}, {{1, 3}});
        }
    }
}

TEST(rope, frequency_factors_yarn_and_offsets_match_the_reference) {
    for (int mode : {GGML_ROPE_TYPE_NORMAL, GGML_ROPE_TYPE_NEOX, GGML_ROPE_TYPE_MROPE}) {
        OpCheck check;
        Options o;
        o.mode = mode;
        o.n_dims = 18; // nine pairs: not a multiple of any vector length
        o.freq_scale = 0.25f;
        o.ext_factor = 1.0f;
        o.attn_factor = 1.3f;
        ggml_tensor * factors = check.input(GGML_TYPE_F32, {20, 1, 1, 1}, Layout::contiguous, 1, 4);
        ggml_tensor * x = check.input(GGML_TYPE_F32, {41, 3, 7, 2});
        ggml_tensor * y = rope(check.ctx(), x, positions(check, 7, mode), o, factors);
        ggml_rope_set_offset(y, 6);
        check.check(y, {8e-7, 0, 0});
    }
}

TEST(rope, in_place_rotation_matches) {
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16}) {
        for (int mode : {GGML_ROPE_TYPE_NORMAL, GGML_ROPE_TYPE_NEOX}) {
            OpCheck check;
            Options o;
            o.mode = mode;
            o.in_place = true;
            ggml_tensor * x = check.input(type, {40, 5, 31, 1});
            check.check(rope(check.ctx(), x, positions(check, 31, mode), o), {4e-7, 0x1p-10, 0});
        }
    }
}

TEST(rope, single_pairs_many_tokens_and_empty_tensors_work) {
    OpCheck check;
    Options o;
    o.n_dims = 2;
    ggml_tensor * x = check.input(GGML_TYPE_F32, {2, 1, 70001, 1});
    check.check(rope(check.ctx(), x, positions(check, 70001, 0), o), kTolerance, {{1, 2, 3, 4, 5, 6, 7, 8}});
    ggml_tensor * empty = check.input(GGML_TYPE_F32, {2, 0, 3, 1});
    EXPECT_TRUE(check.compute(rope(check.ctx(), empty, positions(check, 3, 0), o), false).empty());
}

TEST(rope, positions_beyond_the_fast_range_reduction_are_exact_too) {
    OpCheck check;
    Options o;
    ggml_tensor * x = check.input(GGML_TYPE_F32, {32, 2, 4, 1});
    ggml_tensor * pos = check.indices({0, -5, 999999, 2147483647});
    check.check(rope(check.ctx(), x, pos, o), kTolerance);
}

TEST(rope, nan_stays_in_its_pair) {
    OpCheck check;
    Options o;
    o.n_dims = 4;
    o.mode = GGML_ROPE_TYPE_NEOX;
    ggml_tensor * x = check.values({1, NAN, 3, 4, 5}, {5, 1, 1, 1});
    ggml_tensor * y = rope(check.ctx(), x, check.indices({2}), o);
    check.check(y, {2e-6, 0, 0});
    const std::vector<double> out = check.compute(y, false);
    EXPECT_TRUE(std::isnan(out[1]) && std::isnan(out[3]));
    EXPECT_TRUE(std::isfinite(out[0]) && std::isfinite(out[2]));
    EXPECT_EQ(out[4], 5.0);
}

// Closed forms, written out independently of the implementation.

void append_rotated(std::vector<double> & out, double x0, double x1, double angle, double magnitude = 1.0) {
    out.push_back(magnitude * (x0 * std::cos(angle) - x1 * std::sin(angle)));
    out.push_back(magnitude * (x0 * std::sin(angle) + x1 * std::cos(angle)));
}

TEST(rope, normal_mode_rotates_neighbours_by_powers_of_the_base) {
    OpCheck check;
    Options o;
    o.n_dims = 4;
    o.freq_base = 100.0f; // rates 1 and 1/10
    ggml_tensor * x = check.values({1, 2, 3, 4, 5, 6}, {6, 1, 1, 1});
    std::vector<double> want;
    append_rotated(want, 1, 2, 3.0);
    append_rotated(want, 3, 4, 0.3);
    want.insert(want.end(), {5, 6});
    expect_close(check.compute(rope(check.ctx(), x, check.indices({3}), o), true), want, {5e-7, 0, 0},
                 "normal");
}

TEST(rope, neox_mode_pairs_the_halves_and_an_offset_moves_the_rotated_block) {
    OpCheck check;
    Options o;
    o.n_dims = 4;
    o.mode = GGML_ROPE_TYPE_NEOX;
    o.freq_base = 100.0f;
    ggml_tensor * x = check.values({9, 8, 1, 3, 2, 4}, {6, 1, 1, 1});
    ggml_tensor * y = rope(check.ctx(), x, check.indices({3}), o);
    ggml_rope_set_offset(y, 2);
    std::vector<double> p;
    append_rotated(p, 1, 2, 3.0);
    append_rotated(p, 3, 4, 0.3);
    expect_close(check.compute(y, true), {9, 8, p[0], p[2], p[1], p[3]}, {5e-7, 0, 0}, "neox");
}

// The angles (position of the chosen axis times rate) of each pair, read back by rotating (1, 0).
std::vector<double> angles(OpCheck & check, Options o, int64_t ne0, std::vector<int64_t> pos, int64_t gap) {
    std::vector<float> values(size_t(ne0), 0.0f);
    for (int64_t i = 0; i < gap; ++i) values[size_t(i)] = 1.0f;
    ggml_tensor * y = rope(check.ctx(), check.values(values, {ne0, 1, 1, 1}), check.indices(pos), o);
    const std::vector<double> out = check.compute(y, true);
    std::vector<double> result;
    for (int64_t i = 0; i < gap; ++i) result.push_back(std::atan2(out[size_t(i + gap)], out[size_t(i)]));
    return result;
}

TEST(rope, mrope_sections_choose_positions_without_restarting_frequencies) {
    OpCheck check;
    Options o;
    o.n_dims = 8;
    o.mode = GGML_ROPE_TYPE_MROPE;
    o.freq_base = 16.0f; // rates 1, 1/2, 1/4, 1/8
    std::copy_n(std::begin({1, 1, 2, 0}), 4, o.sections);
    expect_close(angles(check, o, 8, {1, 2, 4, 0}, 4), {1, 2 * 0.5, 4 * 0.25, 4 * 0.125}, {1e-6, 0, 0},
                 "mrope");
}

TEST(rope, imrope_takes_axes_in_turn_until_their_sections_are_used_up) {
    OpCheck check;
    Options o;
    o.n_dims = 16;
    o.mode = GGML_ROPE_TYPE_IMROPE;
    o.freq_base = 1.0f; // every rate is 1: the angle is the position itself
    std::copy_n(std::begin({4, 2, 2, 0}), 4, o.sections);
    // Pairs t y x t y x t: then pair 7 is y's turn, whose section is used up, so it follows the fourth axis.
    expect_close(angles(check, o, 16, {1, 2, 3, 0}, 8), {1, 2, 3, 1, 2, 3, 1, 0}, {1e-6, 0, 0}, "imrope");
}

TEST(rope, vision_mode_restarts_frequencies_in_each_section) {
    OpCheck check;
    Options o;
    o.n_dims = 4;
    o.mode = GGML_ROPE_TYPE_VISION;
    o.freq_base = 16.0f; // 16^(-2i/4): rates 1 and 1/4
    std::copy_n(std::begin({2, 2, 0, 0}), 4, o.sections);
    expect_close(angles(check, o, 8, {2, 3, 0, 0}, 4), {2, 2 * 0.25, 3, 3 * 0.25}, {1e-6, 0, 0}, "vision");
}

TEST(rope, frequency_factors_divide_and_yarn_mixes_angles) {
    OpCheck check;
    Options o;
    o.n_dims = 4;
    o.freq_base = 100.0f;
    o.freq_scale = 0.5f;
    o.attn_factor = 2.0f;
    ggml_tensor * x = check.values({1, 2, 3, 4}, {4, 1, 1, 1});
    std::vector<double> want;
    append_rotated(want, 1, 2, 3.0 * 0.5 / 2, 2.0);
    append_rotated(want, 3, 4, 0.3 * 0.5 / 5, 2.0);
    ggml_tensor * factors = check.values({2, 5}, {2, 1, 1, 1});
    expect_close(check.compute(rope(check.ctx(), x, check.indices({3}), o, factors), true), want,
                 {2e-6, 0, 0}, "factors");
    // 628 positions of context; pair 0 turns 100 times in it, pair 1 ten times. With beta_fast 100 and
    // beta_slow 1 the ramp runs from pair 0 to pair 2: pair 0 keeps its frequency, pair 1 is half way.
    o.ext_factor = 1.0f;
    o.n_ctx_orig = 629;
    o.beta_fast = 100.0f;
    o.beta_slow = 1.01f;
    o.attn_factor = 1.0f;
    want.clear();
    const double magnitude = 1 + 0.1 * std::log(2.0);
    append_rotated(want, 1, 2, 3.0, magnitude);
    append_rotated(want, 3, 4, 0.3 * (0.5 * 0.5 + 0.5 * 1.0), magnitude);
    expect_close(check.compute(rope(check.ctx(), x, check.indices({3}), o), true), want, {2e-6, 0, 0},
                 "yarn");
}

TEST(rope, a_rotated_block_that_does_not_fit_the_row_is_refused) {
    OpCheck check;
    Options o;
    o.n_dims = 4;
    ggml_tensor * x = check.input(GGML_TYPE_F32, {6, 1, 1, 1});
    ggml_tensor * y = rope(check.ctx(), x, check.indices({3}), o);
    // Programs write op_params themselves, so what the constructor would refuse can still arrive here.
    auto params = get_params<RopeParams>(y);
    params.n_offs = 4;
    set_params(y, params);
    LogCapture log;
    EXPECT_EQ(check.compute_status(y, false), GGML_STATUS_FAILED);
}

} // namespace
} // namespace ggml::test
