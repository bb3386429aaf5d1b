#include "tests/runtime/ops/op_graph.h"

#include <cmath>

namespace ggml::test {
namespace {

class Rope : public ::testing::Test {
  protected:
    OpGraph g;
    ggml_tensor * a = g.input("a", {64, 8, 5, 2});
    ggml_tensor * pos = g.input("pos", {5, 1, 1, 1}, GGML_TYPE_I32);
    ggml_tensor * pos4 = g.input("pos4", {20, 1, 1, 1}, GGML_TYPE_I32);
    ggml_tensor * freqs = g.input("freqs", {32, 1, 1, 1});
    int sections[4] = {8, 12, 12, 0};

    ggml_tensor * extended(int n_dims, int mode, ggml_tensor * b, ggml_tensor * c) {
        return ggml_rope_ext(g, a, b, c, n_dims, mode, 4096, 5000.0f, 0.5f, 0.25f, 1.5f, 32.0f, 1.0f);
    }
    ggml_tensor * multi(int n_dims, int mode) {
        return ggml_rope_multi(g, a, pos4, nullptr, n_dims, sections, mode, 4096, 5000.0f, 0.5f, 0.25f, 1.5f,
                               32.0f, 1.0f);
    }
};

TEST_F(Rope, plain_form_has_base_10000_and_no_scaling) {
    const Node node = {GGML_OP_ROPE,
                       GGML_TYPE_F32,
                       {64, 8, 5, 2},
                       {"a", "pos"},
                       {0, 32, GGML_ROPE_TYPE_NEOX, 0, 0, bits(10000.0f), bits(1.0f), 0, bits(1.0f)}};
    expect_node(ggml_rope(g, a, pos, 32, GGML_ROPE_TYPE_NEOX), node);
    expect_described(ggml_rope_inplace(g, a, pos, 32, GGML_ROPE_TYPE_NEOX), node);
    expect_in_place(ggml_rope_inplace(g, a, pos, 32, GGML_ROPE_TYPE_NEOX), a);
}

TEST_F(Rope, extended_form_stores_every_parameter) {
    const Node node = {
        GGML_OP_ROPE,
        GGML_TYPE_F32,
        {64, 8, 5, 2},
        {"a", "pos", "freqs"},
        {0, 64, 0, 0, 4096, bits(5000.0f), bits(0.5f), bits(0.25f), bits(1.5f), bits(32.0f), bits(1.0f)}};
    expect_node(extended(64, GGML_ROPE_TYPE_NORMAL, pos, freqs), node);
    ggml_tensor * t =
        ggml_rope_ext_inplace(g, a, pos, freqs, 64, 0, 4096, 5000.0f, 0.5f, 0.25f, 1.5f, 32.0f, 1.0f);
    expect_described(t, node);
    expect_in_place(t, a);
}

TEST_F(Rope, multi_form_stores_sections_and_takes_four_positions_per_token) {
    const Node node = {GGML_OP_ROPE,
                       GGML_TYPE_F32,
                       {64, 8, 5, 2},
                       {"a", "pos4"},
                       {0, 64, GGML_ROPE_TYPE_MROPE, 0, 4096, bits(5000.0f), bits(0.5f), bits(0.25f),
                        bits(1.5f), bits(32.0f), bits(1.0f), 8, 12, 12, 0}};
    expect_node(multi(64, GGML_ROPE_TYPE_MROPE), node);
    ggml_tensor * t = ggml_rope_multi_inplace(g, a, pos4, nullptr, 64, sections, GGML_ROPE_TYPE_MROPE, 4096,
                                              5000.0f, 0.5f, 0.25f, 1.5f, 32.0f, 1.0f);
    expect_described(t, node);
    expect_in_place(t, a);
}

TEST_F(Rope, refuses_positions_that_do_not_match_the_tokens) {
    expect_stops({"ggml_rope", "f32 [64, 8, 5, 2], i32 [20, 1, 1, 1]"},
                 [&] { ggml_rope(g, a, pos4, 64, 0); });
    expect_stops({"ggml_rope"}, [&] { extended(64, GGML_ROPE_TYPE_MROPE, pos, nullptr); });
    expect_stops({"ggml_rope"}, [&] { ggml_rope(g, a, g.input("p", {5, 1, 1, 1}), 64, 0); });
    expect_stops({"ggml_rope"}, [&] { ggml_rope(g, a, g.input("p", {5, 2, 1, 1}, GGML_TYPE_I32), 64, 0); });
}

TEST_F(Rope, refuses_a_rotated_part_that_is_odd_empty_or_longer_than_the_head) {
    for (const int n_dims : {0, -2, 31, 66}) {
        expect_stops({"ggml_rope", "f32 [64, 8, 5, 2]"}, [&] { ggml_rope(g, a, pos, n_dims, 0); });
    }
    expect_stops({"ggml_rope"}, [&] { multi(64, GGML_ROPE_TYPE_VISION); });
    EXPECT_EQ(multi(32, GGML_ROPE_TYPE_VISION)->op_params[2], GGML_ROPE_TYPE_VISION);
}

TEST_F(Rope, refuses_odd_modes_and_short_frequency_factors) {
    expect_stops({"ggml_rope"}, [&] { ggml_rope(g, a, pos, 64, 1); });
    expect_stops({"ggml_rope", "f32 [31, 1, 1, 1]"}, [&] {
        extended(64, 0, pos, g.input("c", {31, 1, 1, 1}));
    });
    expect_stops({"ggml_rope"}, [&] { extended(64, 0, pos, g.input("c", {32, 1, 1, 1}, GGML_TYPE_F16)); });
}

TEST_F(Rope, vision_takes_one_frequency_factor_for_each_pair_of_the_whole_head) {
    const auto vision = [&](ggml_tensor * c) {
        return ggml_rope_multi(g, a, pos4, c, 32, sections, GGML_ROPE_TYPE_VISION, 4096, 5000.0f, 0.5f, 0.25f,
                               1.5f, 32.0f, 1.0f);
    };
    EXPECT_EQ(vision(freqs)->src[2], freqs);
    for (const int64_t too_few : {16, 31}) {
        ggml_tensor * c = g.input("c", {too_few, 1, 1, 1});
        expect_stops({"ggml_rope", "one f32 frequency factor per pair"}, [&] { vision(c); });
        // Half as many pairs in the other modes of the same n_dims.
        ggml_rope_multi(g, a, pos4, c, 32, sections, GGML_ROPE_TYPE_MROPE, 4096, 5000.0f, 0.5f, 0.25f, 1.5f,
                        32.0f, 1.0f);
    }
}

TEST_F(Rope, offset_is_stored_last_and_stays_inside_the_head) {
    ggml_tensor * t = ggml_rope(g, a, pos, 32, 0);
    EXPECT_EQ(ggml_rope_set_offset(t, 32), t);
    EXPECT_EQ(t->op_params[15], 32);
    expect_stops({"ggml_rope_set_offset"}, [&] { ggml_rope_set_offset(t, 33); });
    expect_stops({"ggml_rope_set_offset"}, [&] { ggml_rope_set_offset(t, -1); });
    expect_stops({"ggml_rope_set_offset"}, [&] { ggml_rope_set_offset(a, 0); });
    expect_stops({"ggml_rope_set_offset"},
                 [&] { ggml_rope_set_offset(multi(32, GGML_ROPE_TYPE_VISION), 0); });
}

TEST(rope_yarn_corr_dims, solves_for_the_pairs_of_the_given_turns_and_stays_inside_the_head) {
    // 64 * log(343 / (2 pi turns)) / (2 * log(e^8)) is 16.00 - 0.0006 for one turn and 8.00 - 0.0006 for e^2
    // turns: the first is rounded up, the second down.
    const float base = std::exp(8.0f);
    float dims[2];
    ggml_rope_yarn_corr_dims(64, 343, base, std::exp(2.0f), 1.0f, dims);
    EXPECT_EQ(dims[0], 7.0f);
    EXPECT_EQ(dims[1], 16.0f);
    ggml_rope_yarn_corr_dims(64, 1, base, 32.0f, 1.0f, dims);
    EXPECT_EQ(dims[0], 0.0f);
    ggml_rope_yarn_corr_dims(8, 1 << 30, base, 32.0f, 1e-30f, dims);
    EXPECT_EQ(dims[1], 7.0f);
}

} // namespace
} // namespace ggml::test
