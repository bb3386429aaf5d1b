#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

TEST(soft_max, without_a_mask_has_scale_one) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {16, 4, 8, 2});
    expect_node(ggml_soft_max(g, a),
                {GGML_OP_SOFT_MAX, GGML_TYPE_F32, {16, 4, 8, 2}, {"a"}, {bits(1.0f), 0}});
    expect_in_place(ggml_soft_max_inplace(g, a), a);
}

TEST(soft_max, stores_scale_and_bias_and_repeats_the_mask) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {16, 4, 8, 2});
    ggml_tensor * mask = g.input("mask", {16, 6, 2, 1}, GGML_TYPE_F16);
    const Node node = {
        GGML_OP_SOFT_MAX, GGML_TYPE_F32, {16, 4, 8, 2}, {"a", "mask"}, {bits(0.5f), bits(8.0f)}};
    expect_node(ggml_soft_max_ext(g, a, mask, 0.5f, 8.0f), node);
    expect_described(ggml_soft_max_ext_inplace(g, a, mask, 0.5f, 8.0f), node);
    expect_in_place(ggml_soft_max_ext_inplace(g, a, mask, 0.5f, 8.0f), a);
}

TEST(soft_max, refuses_masks_that_do_not_cover_the_logits) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {16, 4, 8, 2});
    const Shape wrong[] = {{15, 4, 1, 1}, {16, 3, 1, 1}, {16, 4, 3, 1}, {16, 4, 1, 4}, {16, 4, 0, 1}};
    for (const Shape & ne : wrong) {
        expect_stops({"ggml_soft_max_ext", "f32 [16, 4, 8, 2], f32 ["},
                     [&] { ggml_soft_max_ext(g, a, g.input("mask", ne), 1.0f, 0.0f); });
    }
    expect_stops({"ggml_soft_max_ext", "i32 [16, 4, 1, 1]"}, [&] {
        ggml_soft_max_ext(g, a, g.input("mask", {16, 4, 1, 1}, GGML_TYPE_I32), 1.0f, 0.0f);
    });
    expect_stops({"ggml_soft_max"}, [&] { ggml_soft_max_ext(g, a, nullptr, 1.0f, 1.0f); });
    expect_stops({"ggml_soft_max", "f32 [4, 16, 8, 2]"}, [&] { ggml_soft_max(g, ggml_transpose(g, a)); });
}

TEST(soft_max_sinks, are_one_per_head_and_can_be_removed) {
    OpGraph g;
    ggml_tensor * t = ggml_soft_max(g, g.input("a", {16, 4, 8, 2}));
    ggml_tensor * sinks = g.input("sinks", {8, 1, 1, 1});
    ggml_soft_max_add_sinks(t, sinks);
    EXPECT_EQ(t->src[2], sinks);
    expect_stops({"ggml_soft_max_add_sinks"}, [&] { ggml_soft_max_add_sinks(t, sinks); });
    ggml_soft_max_add_sinks(t, nullptr);
    EXPECT_EQ(t->src[2], nullptr);
    expect_stops({"ggml_soft_max_add_sinks", "f32 [7, 1, 1, 1]"}, [&] {
        ggml_soft_max_add_sinks(t, g.input("s", {7, 1, 1, 1}));
    });
    expect_stops({"ggml_soft_max_add_sinks"}, [&] { ggml_soft_max_add_sinks(t->src[0], sinks); });
}

} // namespace
} // namespace ggml::test
