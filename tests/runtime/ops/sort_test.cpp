#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

TEST(argsort, gives_indices_of_the_same_shape) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 6, 2, 1});
    expect_node(ggml_argsort(g, a, GGML_SORT_ORDER_DESC),
                {GGML_OP_ARGSORT, GGML_TYPE_I32, {8, 6, 2, 1}, {"a"}, {1}});
    expect_stops({"ggml_argsort", "f32 [8, 6, 2, 1]"}, [&] { ggml_argsort(g, a, ggml_sort_order(2)); });
    expect_stops({"ggml_argsort"}, [&] {
        ggml_argsort(g, g.input("b", {int64_t(1) << 31, 1, 1, 1}), GGML_SORT_ORDER_ASC);
    });
}

TEST(argsort_top_k, is_a_view_of_the_sorted_indices) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 6, 2, 1});
    ggml_tensor * t = ggml_argsort_top_k(g, a, 3);
    EXPECT_EQ(t->op, GGML_OP_VIEW);
    EXPECT_EQ(shape_of(t), (Shape{3, 6, 2, 1}));
    EXPECT_EQ(t->nb[1], 32u);
    expect_node(t->src[0], {GGML_OP_ARGSORT, GGML_TYPE_I32, {8, 6, 2, 1}, {"a"}, {GGML_SORT_ORDER_DESC}});
    expect_stops({"ggml_argsort_top_k", "f32 [8, 6, 2, 1]"}, [&] { ggml_argsort_top_k(g, a, 9); });
}

TEST(top_k, gives_k_indices_per_row) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 6, 2, 1});
    expect_node(ggml_top_k(g, a, 3), {GGML_OP_TOP_K, GGML_TYPE_I32, {3, 6, 2, 1}, {"a"}});
    expect_stops({"ggml_top_k", "f32 [8, 6, 2, 1]"}, [&] { ggml_top_k(g, a, 9); });
    expect_stops({"ggml_top_k"}, [&] { ggml_top_k(g, a, -1); });
}

} // namespace
} // namespace ggml::test
