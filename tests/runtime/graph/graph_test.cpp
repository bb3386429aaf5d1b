#include "runtime/graph/graph.h"
#include "tests/runtime/graph/graph_maker.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace ggml::test {
namespace {

TEST(graph, a_new_graph_is_empty_and_has_the_size_asked_for) {
    GraphMaker m;
    ggml_cgraph * g = ggml_new_graph(m.ctx());
    EXPECT_EQ(ggml_graph_size(g), GGML_DEFAULT_GRAPH_SIZE);
    EXPECT_EQ(ggml_graph_n_nodes(g), 0);
    EXPECT_EQ(ggml_graph_size(ggml_new_graph_custom(m.ctx(), 3, false)), 3);
}

TEST(graph, overhead_is_exactly_what_the_arena_gives_up) {
    GraphMaker m;
    for (size_t size : {0, 1, 7, 100, 2048}) {
        const size_t before = ggml_used_mem(m.ctx());
        ggml_new_graph_custom(m.ctx(), size, false);
        EXPECT_EQ(ggml_used_mem(m.ctx()) - before, ggml_graph_overhead_custom(size, false)) << size;
    }
    EXPECT_EQ(ggml_graph_overhead(), ggml_graph_overhead_custom(GGML_DEFAULT_GRAPH_SIZE, false));
}

TEST(graph, holds_as_many_nodes_and_leafs_as_its_size) {
    constexpr int kSize = 37;
    GraphMaker m;
    ggml_cgraph * g = ggml_new_graph_custom(m.ctx(), kSize, false);
    for (int i = 0; i < kSize; ++i) ggml_build_forward_expand(g, m.node(GGML_OP_SQR, {m.leaf()}));
    EXPECT_EQ(g->n_nodes, kSize);
    EXPECT_EQ(g->n_leafs, kSize);
}

TEST(graph, gradients_are_refused_by_name) {
    GraphMaker m;
    EXPECT_DEATH(ggml_new_graph_custom(m.ctx(), 8, true), "ggml_new_graph_custom.*training");
    EXPECT_DEATH(ggml_graph_overhead_custom(8, true), "ggml_graph_overhead_custom.*training");
    EXPECT_DEATH(ggml_graph_dup(m.ctx(), ggml_new_graph(m.ctx()), true), "ggml_graph_dup.*training");
}

TEST(graph, negative_indices_count_from_the_end_and_bad_ones_stop) {
    GraphMaker m;
    ggml_tensor * x = m.node(GGML_OP_SQR, {m.leaf()});
    ggml_tensor * y = m.node(GGML_OP_SQRT, {x});
    ggml_cgraph * g = m.graph({y});
    EXPECT_EQ(ggml_graph_node(g, 0), x);
    EXPECT_EQ(ggml_graph_node(g, -1), y);
    EXPECT_EQ(ggml_graph_node(g, -2), x);
    EXPECT_EQ(ggml_graph_nodes(g)[1], y);
    EXPECT_DEATH(ggml_graph_node(g, 2), "node 2 of a graph with 2");
    EXPECT_DEATH(ggml_graph_node(g, -3), "node -3 of a graph with 2");
}

TEST(graph, finds_tensors_by_name_with_leafs_first) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_SQR, {a});
    ggml_tensor * y = m.node(GGML_OP_SQRT, {x});
    ggml_set_name(a, "twice");
    ggml_set_name(x, "twice");
    ggml_set_name(y, "once");
    ggml_cgraph * g = m.graph({y});
    EXPECT_EQ(ggml_graph_get_tensor(g, "twice"), a);
    EXPECT_EQ(ggml_graph_get_tensor(g, "once"), y);
    EXPECT_EQ(ggml_graph_get_tensor(g, "never"), nullptr);
}

TEST(graph, clear_forgets_nodes_leafs_and_counts) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_MUL, {a, a});
    ggml_cgraph * g = m.graph({x});
    ggml_graph_clear(g);
    EXPECT_EQ(g->n_nodes, 0);
    EXPECT_EQ(g->n_leafs, 0);
    EXPECT_EQ(use_count(g, a), 0);
    ggml_build_forward_expand(g, x);
    EXPECT_EQ(use_count(g, a), 2);
}

TEST(graph, dup_and_cpy_carry_nodes_leafs_and_counts) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_MUL, {a, a});
    ggml_cgraph * g = m.graph({x}, 16);
    ggml_cgraph * larger = ggml_new_graph_custom(m.ctx(), 64, false);
    ggml_build_forward_expand(larger, m.node(GGML_OP_SQR, {m.leaf()})); // replaced by the copy
    ggml_graph_cpy(g, larger);
    for (ggml_cgraph * copy : {ggml_graph_dup(m.ctx(), g, false), larger}) {
        ASSERT_EQ(copy->n_nodes, 1);
        ASSERT_EQ(copy->n_leafs, 1);
        EXPECT_EQ(copy->nodes[0], x);
        EXPECT_EQ(copy->leafs[0], a);
        EXPECT_EQ(use_count(copy, a), 2);
        ggml_build_forward_expand(copy, x);
        EXPECT_EQ(copy->n_nodes, 1) << "the copy knows what it has visited";
    }
}

TEST(graph, cpy_into_a_graph_that_is_too_small_stops) {
    GraphMaker m;
    ggml_tensor * x = m.node(GGML_OP_SQR, {m.leaf()});
    ggml_cgraph * g = m.graph({m.node(GGML_OP_SQR, {x})});
    EXPECT_DEATH(ggml_graph_cpy(g, ggml_new_graph_custom(m.ctx(), 1, false)), "size 1 cannot hold 2 nodes");
}

TEST(graph, a_node_added_by_hand_comes_last_and_records_no_consumers) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_SQR, {a});
    ggml_cgraph * g = ggml_new_graph_custom(m.ctx(), 1, false);
    ggml_graph_add_node(g, x);
    EXPECT_EQ(ggml_graph_node(g, -1), x);
    EXPECT_EQ(use_count(g, a), 0);
    EXPECT_DEATH(ggml_graph_add_node(g, m.node(GGML_OP_SQR, {x})), "size 1 is full");
}

TEST(graph_view, shows_a_range_with_the_counts_of_the_whole) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_SQR, {a});
    ggml_tensor * y = m.node(GGML_OP_SQRT, {x});
    ggml_tensor * z = m.node(GGML_OP_ADD, {y, x});
    ggml_cgraph * g = m.graph({z});
    ggml_cgraph view = graph_view(g, 1, 1);
    ASSERT_EQ(view.n_nodes, 1);
    EXPECT_EQ(view.nodes[0], y);
    EXPECT_EQ(view.n_leafs, 0);
    EXPECT_EQ(use_count(&view, x), 2) << "z reads it outside the view";
    EXPECT_EQ(graph_view(g, 3, 0).n_nodes, 0);
    EXPECT_DEATH(graph_view(g, 2, 2), "n_nodes");
}

TEST(graph_view, can_be_duplicated_into_a_graph_of_its_own) {
    GraphMaker m;
    ggml_tensor * x = m.node(GGML_OP_SQR, {m.leaf()});
    ggml_tensor * y = m.node(GGML_OP_SQRT, {x});
    ggml_cgraph * g = m.graph({y});
    ggml_cgraph view = graph_view(g, 1, 1);
    ggml_cgraph * copy = ggml_graph_dup(m.ctx(), &view, false);
    ASSERT_EQ(copy->n_nodes, 1);
    EXPECT_EQ(copy->nodes[0], y);
    EXPECT_EQ(use_count(copy, x), 1);
}

TEST(graph_view, nothing_can_be_appended_to_it) {
    GraphMaker m;
    ggml_tensor * x = m.node(GGML_OP_SQR, {m.leaf()});
    ggml_cgraph * g = m.graph({x});
    ggml_cgraph view = graph_view(g, 0, 1);
    EXPECT_DEATH(ggml_build_forward_expand(&view, m.node(GGML_OP_SQR, {x})), "full");
}

TEST(op_is_metadata_only, holds_for_the_five_operators_that_run_no_code) {
    const std::set<ggml_op> expected = {GGML_OP_NONE, GGML_OP_RESHAPE, GGML_OP_VIEW, GGML_OP_PERMUTE,
                                        GGML_OP_TRANSPOSE};
    for (int op = 0; op < GGML_OP_COUNT; ++op) {
        EXPECT_EQ(op_is_metadata_only(ggml_op(op)), expected.count(ggml_op(op)) == 1) << op;
    }
}

TEST(tensor_set, finds_what_was_inserted_until_it_is_full) {
    constexpr size_t kSlots = 5;
    const ggml_tensor * keys[kSlots];
    ggml_tensor tensors[kSlots + 1] = {};
    TensorSet set{kSlots, keys};
    set.clear();
    for (size_t i = 0; i < kSlots; ++i) {
        EXPECT_EQ(set.find(&tensors[i]), TensorSet::npos);
        const size_t slot = set.insert(&tensors[i]);
        EXPECT_LT(slot, kSlots);
        EXPECT_EQ(set.insert(&tensors[i]), slot) << "a second insertion changes nothing";
        EXPECT_EQ(set.count(), i + 1);
    }
    for (size_t i = 0; i < kSlots; ++i) EXPECT_EQ(set.keys[set.find(&tensors[i])], &tensors[i]);
    EXPECT_EQ(set.find(&tensors[kSlots]), TensorSet::npos);
    EXPECT_EQ(set.insert(&tensors[kSlots]), TensorSet::npos);
}

TEST(tensor_set, an_empty_set_holds_nothing) {
    TensorSet set;
    ggml_tensor t = {};
    EXPECT_EQ(set.find(&t), TensorSet::npos);
    EXPECT_EQ(set.insert(&t), TensorSet::npos);
    EXPECT_EQ(set.find(nullptr), TensorSet::npos);
}

} // namespace
} // namespace ggml::test
