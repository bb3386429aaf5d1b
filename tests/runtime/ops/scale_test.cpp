#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

TEST(scale, stores_factor_and_bias) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 2, 1});
    expect_node(ggml_scale(g, a, 2.0f), {GGML_OP_SCALE, GGML_TYPE_F32, {8, 3, 2, 1}, {"a"}, {bits(2.0f), 0}});
    expect_node(ggml_scale_bias(g, a, 2.0f, 3.0f),
                {GGML_OP_SCALE, GGML_TYPE_F32, {8, 3, 2, 1}, {"a"}, {bits(2.0f), bits(3.0f)}});
    expect_in_place(ggml_scale_inplace(g, a, 2.0f), a);
    expect_in_place(ggml_scale_bias_inplace(g, a, 2.0f, 3.0f), a);
}

TEST(scale, accepts_padded_rows_and_refuses_permuted_ones) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 2, 1});
    EXPECT_EQ(ggml_scale(g, ggml_view_2d(g, a, 4, 3, a->nb[1], 0), 2.0f)->ne[0], 4);
    expect_stops({"ggml_scale", "f32 [8, 2, 3, 1]"},
                 [&] { ggml_scale(g, ggml_permute(g, a, 0, 2, 1, 3), 2.0f); });
    expect_stops({"ggml_scale", "f32 [3, 8, 2, 1]"}, [&] { ggml_scale(g, ggml_transpose(g, a), 2.0f); });
}

TEST(clamp, is_always_in_place) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 2, 1});
    ggml_tensor * t = ggml_clamp(g, a, -1.0f, 2.0f);
    expect_in_place(t, a);
    expect_described(t, {GGML_OP_CLAMP, GGML_TYPE_F32, {8, 3, 2, 1}, {"a"}, {bits(-1.0f), bits(2.0f)}});
}

} // namespace
} // namespace ggml::test
