#include "tests/runtime/ops/op_graph.h"

#include <cmath>
#include <limits>

namespace ggml::test {
namespace {

TEST(arange, counts_the_steps_below_stop) {
    OpGraph g;
    const float inf = std::numeric_limits<float>::infinity();
    expect_node(ggml_arange(g, 1.0f, 4.0f, 1.0f),
                {GGML_OP_ARANGE, GGML_TYPE_F32, {3, 1, 1, 1}, {}, {bits(1.0f), bits(4.0f), bits(1.0f)}});
    EXPECT_EQ(ggml_arange(g, 0.0f, 1.0f, 0.3f)->ne[0], 4);
    const float wrong[][3] = {{1, 1, 1},  {2, 1, 1},   {0, 1, 0},
                              {0, 1, -1}, {0, inf, 1}, {0, 1, std::nanf("")}};
    for (const auto & w : wrong) expect_stops({"ggml_arange"}, [&] { ggml_arange(g, w[0], w[1], w[2]); });
}

TEST(fill, takes_the_shape_of_its_operand) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 6, 1, 1}, GGML_TYPE_F16);
    expect_node(ggml_fill(g, a, 2.5f), {GGML_OP_FILL, GGML_TYPE_F16, {8, 6, 1, 1}, {"a"}, {bits(2.5f)}});
    expect_in_place(ggml_fill_inplace(g, a, 2.5f), a);
    expect_stops({"ggml_fill", "i32 [8, 6, 1, 1]"}, [&] {
        ggml_fill(g, g.input("b", {8, 6, 1, 1}, GGML_TYPE_I32), 1.0f);
    });
    expect_stops({"ggml_fill"}, [&] { ggml_fill(g, ggml_transpose(g, a), 1.0f); });
}

TEST(timestep_embedding, gives_one_row_per_timestep) {
    OpGraph g;
    ggml_tensor * t = g.input("t", {5, 1, 1, 1});
    expect_node(ggml_timestep_embedding(g, t, 320, 10000),
                {GGML_OP_TIMESTEP_EMBEDDING, GGML_TYPE_F32, {320, 5, 1, 1}, {"t"}, {320, 10000}});
    EXPECT_EQ(ggml_timestep_embedding(g, t, 321, 10000)->ne[0], 321);
    expect_stops({"ggml_timestep_embedding", "f32 [5, 1, 1, 1]"},
                 [&] { ggml_timestep_embedding(g, t, 0, 10000); });
    expect_stops({"ggml_timestep_embedding"}, [&] { ggml_timestep_embedding(g, t, 320, 0); });
}

} // namespace
} // namespace ggml::test
