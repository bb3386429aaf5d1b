#include "runtime/graph/graph.h"
#include "tests/runtime/graph/graph_maker.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ggml::test {
namespace {

std::vector<ggml_tensor *> nodes_of(ggml_cgraph * g) { return {g->nodes, g->nodes + g->n_nodes}; }
std::vector<ggml_tensor *> leafs_of(ggml_cgraph * g) { return {g->leafs, g->leafs + g->n_leafs}; }
using Tensors = std::vector<ggml_tensor *>;

bool computed(const ggml_tensor * t) { return (t->flags & GGML_TENSOR_FLAG_COMPUTE) != 0; }

TEST(graph_build, visits_sources_depth_first_from_left_to_right_and_appends_after_them) {
    GraphMaker m;
    ggml_tensor *a = m.leaf(), *b = m.leaf(), *c = m.leaf();
    ggml_tensor * left = m.node(GGML_OP_MUL, {b, a});
    ggml_tensor * deep = m.node(GGML_OP_SQR, {c});
    ggml_tensor * right = m.node(GGML_OP_ADD, {deep, b});
    ggml_tensor * top = m.node(GGML_OP_SUB, {left, right});
    ggml_cgraph * g = m.graph({top});
    EXPECT_EQ(nodes_of(g), (Tensors{left, deep, right, top}));
    EXPECT_EQ(leafs_of(g), (Tensors{b, a, c}));
}

TEST(graph_build, appends_a_shared_source_once) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * shared = m.node(GGML_OP_SQR, {a});
    ggml_tensor * x = m.node(GGML_OP_SQRT, {shared});
    ggml_tensor * y = m.node(GGML_OP_ADD, {x, shared});
    EXPECT_EQ(nodes_of(m.graph({y})), (Tensors{shared, x, y}));
}

TEST(graph_build, expanding_again_appends_only_what_is_new) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_SQR, {a});
    ggml_tensor * y = m.node(GGML_OP_SQRT, {x});
    ggml_cgraph * g = m.graph({x});
    ggml_build_forward_expand(g, x);
    EXPECT_EQ(nodes_of(g), (Tensors{x}));
    ggml_build_forward_expand(g, y);
    EXPECT_EQ(nodes_of(g), (Tensors{x, y}));
    EXPECT_EQ(leafs_of(g), (Tensors{a}));
}

TEST(graph_build, a_parameter_without_operator_is_a_node) {
    GraphMaker m;
    ggml_tensor *p = m.leaf(), *a = m.leaf();
    p->flags |= GGML_TENSOR_FLAG_PARAM;
    ggml_tensor * x = m.node(GGML_OP_ADD, {p, a});
    ggml_cgraph * g = m.graph({x});
    EXPECT_EQ(nodes_of(g), (Tensors{p, x}));
    EXPECT_EQ(leafs_of(g), (Tensors{a}));
}

TEST(graph_build, gaps_in_the_source_list_are_skipped) {
    GraphMaker m;
    ggml_tensor *a = m.leaf(), *b = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_CUSTOM, {nullptr, a, nullptr, b});
    EXPECT_EQ(leafs_of(m.graph({x})), (Tensors{a, b}));
}

TEST(graph_build, names_tensors_that_have_none_by_their_position) {
    GraphMaker m;
    ggml_tensor *a = m.leaf(), *b = m.leaf();
    ggml_set_name(a, "input");
    ggml_tensor * x = m.node(GGML_OP_ADD, {a, b});
    ggml_tensor * y = m.node(GGML_OP_SQR, {x});
    m.graph({y});
    EXPECT_STREQ(a->name, "input");
    EXPECT_STREQ(b->name, "leaf_1");
    EXPECT_STREQ(x->name, "node_0");
    EXPECT_STREQ(y->name, "node_1");
}

TEST(graph_build, counts_every_read_of_a_tensor) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_MUL, {a, a});
    ggml_tensor * y = m.node(GGML_OP_ADD, {x, a});
    ggml_tensor * unknown = m.leaf();
    ggml_cgraph * g = m.graph({y});
    EXPECT_EQ(use_count(g, a), 3);
    EXPECT_EQ(use_count(g, x), 1);
    EXPECT_EQ(use_count(g, y), 0);
    EXPECT_EQ(use_count(g, unknown), 0);
    ggml_build_forward_expand(g, m.node(GGML_OP_SQR, {y}));
    EXPECT_EQ(use_count(g, y), 1);
    EXPECT_EQ(use_count(g, a), 3);
}

TEST(graph_build, marks_nodes_but_not_leafs_for_computation) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_SQR, {a});
    m.graph({x});
    EXPECT_TRUE(computed(x));
    EXPECT_FALSE(computed(a));
}

TEST(graph_build, select_orders_all_branches_and_marks_only_the_chosen_one) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * shared = m.node(GGML_OP_SQR, {a});
    ggml_tensor * left_part = m.node(GGML_OP_SIN, {shared});
    ggml_tensor * left = m.node(GGML_OP_COS, {left_part});
    ggml_tensor * right = m.node(GGML_OP_LOG, {shared});
    ggml_cgraph * g = ggml_new_graph(m.ctx());
    ggml_tensor * branches[] = {left, right};
    EXPECT_EQ(ggml_build_forward_select(g, branches, 2, 1), right);
    EXPECT_EQ(nodes_of(g), (Tensors{shared, left_part, left, right}));
    EXPECT_TRUE(computed(shared));
    EXPECT_TRUE(computed(right));
    EXPECT_FALSE(computed(left));
    EXPECT_FALSE(computed(left_part));
}

TEST(graph_build, order_places_without_marking_and_expand_marks_it_later) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_SQR, {a});
    ggml_tensor * y = m.node(GGML_OP_SQRT, {x});
    ggml_cgraph * g = ggml_new_graph(m.ctx());
    ggml_build_forward_order(g, y);
    EXPECT_EQ(nodes_of(g), (Tensors{x, y}));
    EXPECT_FALSE(computed(x));
    ggml_build_forward_expand(g, y);
    EXPECT_EQ(g->n_nodes, 2);
    EXPECT_TRUE(computed(x));
    EXPECT_TRUE(computed(y));
}

TEST(graph_build, a_chain_of_a_hundred_thousand_nodes_does_not_exhaust_the_stack) {
    constexpr int kDepth = 100000;
    GraphMaker m(kDepth + 8, kDepth + 8);
    ggml_tensor * t = m.leaf(1);
    for (int i = 0; i < kDepth; ++i) t = m.node(GGML_OP_SQR, {t}, 1);
    ggml_cgraph * g = ggml_new_graph_custom(m.ctx(), kDepth, false);
    ggml_build_forward_order(g, t);
    EXPECT_EQ(g->n_nodes, kDepth);
    EXPECT_EQ(g->nodes[kDepth - 1], t);
    ggml_build_forward_expand(g, t); // the marking walk is as deep
    EXPECT_TRUE(computed(g->nodes[0]));
}

TEST(graph_build, a_full_graph_stops_with_its_size_and_the_tensor) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_SQR, {a});
    ggml_tensor * y = m.node(GGML_OP_SQRT, {x});
    ggml_set_name(y, "too_much");
    ggml_cgraph * g = ggml_new_graph_custom(m.ctx(), 1, false);
    EXPECT_DEATH(ggml_build_forward_expand(g, y), "size 1 is full.*too_much.*SQRT");
}

TEST(graph_build, changes_take_away_the_promise_of_an_equal_graph) {
    GraphMaker m;
    ggml_tensor * x = m.node(GGML_OP_SQR, {m.leaf()});
    ggml_cgraph * g = m.graph({x});
    g->uid = 7;
    ggml_build_forward_expand(g, x);
    EXPECT_EQ(g->uid, 7u) << "nothing changed";
    ggml_build_forward_expand(g, m.node(GGML_OP_SQR, {x}));
    EXPECT_EQ(g->uid, 0u);
}

} // namespace
} // namespace ggml::test
