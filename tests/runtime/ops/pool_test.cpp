#include "tests/runtime/ops/op_graph.h"

#include <cmath>

namespace ggml::test {
namespace {

TEST(pool, counts_the_windows_that_fit) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {11, 8, 3, 2}, GGML_TYPE_F16);
    expect_node(ggml_pool_1d(g, a, GGML_OP_POOL_AVG, 3, 2, 1),
                {GGML_OP_POOL_1D, GGML_TYPE_F32, {6, 8, 3, 2}, {"a"}, {GGML_OP_POOL_AVG, 3, 2, 1}});
    expect_node(ggml_pool_2d(g, a, GGML_OP_POOL_MAX, 3, 2, 2, 2, 1.0f, 0.0f),
                {GGML_OP_POOL_2D, GGML_TYPE_F32, {6, 4, 3, 2}, {"a"}, {GGML_OP_POOL_MAX, 3, 2, 2, 2, 1, 0}});
}

TEST(pool, a_fractional_padding_counts_in_the_size_and_is_stored_rounded_down) {
    OpGraph g;
    // (5 + 2*0.5 - 2) / 1 + 1 = 5
    ggml_tensor * t = ggml_pool_2d(g, g.input("a", {5, 5, 1, 1}), GGML_OP_POOL_AVG, 2, 2, 1, 1, 0.5f, 1.5f);
    EXPECT_EQ(shape_of(t), (Shape{5, 7, 1, 1}));
    expect_op_params(t, {GGML_OP_POOL_AVG, 2, 2, 1, 1, 0, 1});
}

TEST(pool, refuses_windows_larger_than_the_data) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 4, 1, 1});
    expect_stops({"ggml_pool_1d", "f32 [4, 4, 1, 1]"},
                 [&] { ggml_pool_1d(g, a, GGML_OP_POOL_MAX, 5, 1, 0); });
    expect_stops({"ggml_pool_1d"}, [&] { ggml_pool_1d(g, a, GGML_OP_POOL_MAX, 2, 0, 0); });
    expect_stops({"ggml_pool_1d"}, [&] { ggml_pool_1d(g, a, GGML_OP_POOL_MAX, 2, 1, -1); });
    expect_stops({"ggml_pool_1d"}, [&] { ggml_pool_1d(g, a, GGML_OP_POOL_COUNT, 2, 1, 0); });
    expect_stops({"ggml_pool_2d"}, [&] { ggml_pool_2d(g, a, GGML_OP_POOL_AVG, 2, 5, 1, 1, 0, 0); });
    expect_stops({"ggml_pool_2d"},
                 [&] { ggml_pool_2d(g, a, GGML_OP_POOL_AVG, 2, 2, 1, 1, std::nanf(""), 0); });
}

} // namespace
} // namespace ggml::test
