#include "ggml-graph.h"

#include "runtime/graph/graph.h"
#include "tests/runtime/graph/graph_maker.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace ggml::test {
namespace {

using TensorMap = std::map<const ggml_tensor *, ggml_tensor *>;

ggml_tensor * look_up(const ggml_tensor * t, void * map) {
    const auto & m = *static_cast<TensorMap *>(map);
    const auto found = m.find(t);
    return found == m.end() ? nullptr : found->second;
}

// b = sqr(a); c = b * a; d = sqrt(c), and copies of all of them.
struct Sample {
    Sample() {
        a = m.leaf();
        b = m.node(GGML_OP_SQR, {a});
        c = m.node(GGML_OP_MUL, {b, a});
        d = m.node(GGML_OP_SQRT, {c});
        graph = m.graph({d}, 32);
        for (ggml_tensor * t : {a, b, c, d}) map[t] = m.leaf();
        for (ggml_tensor * t : {b, c, d}) {
            map[t]->op = t->op;
            for (int j = 0; j < GGML_MAX_SRC; ++j) map[t]->src[j] = t->src[j] ? map[t->src[j]] : nullptr;
        }
        target = m.graph({m.node(GGML_OP_SQR, {old_leaf = m.leaf()})}, 32);
        old_node = target->nodes[0];
    }

    ggml_status copy() { return ggml_graph_copy_mapped(target, graph, look_up, &map); }

    void expect_target_unchanged() {
        ASSERT_EQ(target->n_nodes, 1);
        ASSERT_EQ(target->n_leafs, 1);
        EXPECT_EQ(target->nodes[0], old_node);
        EXPECT_EQ(target->leafs[0], old_leaf);
        EXPECT_EQ(use_count(target, old_leaf), 1);
        EXPECT_EQ(target->visited.count(), 2u);
    }

    GraphMaker m;
    ggml_tensor *a, *b, *c, *d, *old_leaf, *old_node;
    ggml_cgraph *graph, *target;
    TensorMap map;
};

TEST(public_leafs, are_enumerated_in_order_and_bounds_are_answers) {
    GraphMaker m;
    ggml_tensor *a = m.leaf(), *b = m.leaf();
    ggml_cgraph * g = m.graph({m.node(GGML_OP_ADD, {a, b})});
    EXPECT_EQ(ggml_graph_n_leafs(g), 2);
    EXPECT_EQ(ggml_graph_leaf(g, 0), a);
    EXPECT_EQ(ggml_graph_leaf(g, -1), b);
    EXPECT_EQ(ggml_graph_leaf(g, 2), nullptr);
    EXPECT_EQ(ggml_graph_leaf(g, -3), nullptr);
}

TEST(public_leafs, appending_keeps_what_is_there) {
    GraphMaker m;
    ggml_tensor *a = m.leaf(), *b = m.leaf(), *c = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_SQR, {a});
    ggml_cgraph * g = m.graph({x}, 2);
    EXPECT_EQ(ggml_graph_add_leaf(g, b), GGML_STATUS_SUCCESS);
    EXPECT_EQ(ggml_graph_leaf(g, 0), a);
    EXPECT_EQ(ggml_graph_leaf(g, 1), b);
    EXPECT_EQ(ggml_graph_use_count(g, a), 1);
    EXPECT_EQ(ggml_graph_use_count(g, b), 0);
    EXPECT_EQ(ggml_graph_add_leaf(g, a), GGML_STATUS_FAILED) << "already a leaf";
    EXPECT_EQ(ggml_graph_add_leaf(g, x), GGML_STATUS_FAILED) << "already a node";
    EXPECT_EQ(ggml_graph_add_leaf(g, nullptr), GGML_STATUS_FAILED);
    EXPECT_EQ(ggml_graph_add_leaf(g, c), GGML_STATUS_ALLOC_FAILED) << "full";
    EXPECT_EQ(ggml_graph_n_leafs(g), 2);
}

TEST(public_use_counts, are_the_recorded_ones) {
    Sample s;
    EXPECT_EQ(ggml_graph_use_count(s.graph, s.a), 2);
    EXPECT_EQ(ggml_graph_node_use_count(s.graph, 0), 1);
    EXPECT_EQ(ggml_graph_node_use_count(s.graph, -1), 0);
    EXPECT_EQ(ggml_graph_node_use_count(s.graph, 3), 0);
    EXPECT_EQ(ggml_graph_use_count(s.graph, s.old_leaf), 0);
}

TEST(mapped_copy, keeps_order_and_consumer_counts) {
    Sample s;
    ASSERT_EQ(s.copy(), GGML_STATUS_SUCCESS);
    ASSERT_EQ(s.target->n_nodes, 3);
    ASSERT_EQ(s.target->n_leafs, 1);
    EXPECT_EQ(s.target->nodes[0], s.map[s.b]);
    EXPECT_EQ(s.target->nodes[1], s.map[s.c]);
    EXPECT_EQ(s.target->nodes[2], s.map[s.d]);
    EXPECT_EQ(s.target->leafs[0], s.map[s.a]);
    for (const auto & [original, copy] : s.map) {
        EXPECT_EQ(use_count(s.target, copy), use_count(s.graph, original));
    }
    EXPECT_EQ(use_count(s.target, s.old_leaf), 0) << "what was there before is gone";
}

TEST(mapped_copy, of_a_view_counts_consumers_outside_the_view) {
    Sample s;
    ggml_cgraph view = graph_view(s.graph, 0, 1); // b only; c reads it too
    ASSERT_EQ(ggml_graph_copy_mapped(s.target, &view, look_up, &s.map), GGML_STATUS_SUCCESS);
    ASSERT_EQ(s.target->n_nodes, 1);
    EXPECT_EQ(s.target->n_leafs, 0);
    EXPECT_EQ(use_count(s.target, s.map[s.b]), 1);
    EXPECT_EQ(use_count(s.target, s.map[s.a]), 2) << "a source that the view does not list";
}

TEST(mapped_copy, with_a_missing_answer_fails_and_changes_nothing) {
    for (int missing = 0; missing < 4; ++missing) {
        Sample s;
        ggml_tensor * all[] = {s.a, s.b, s.c, s.d};
        s.map.erase(all[missing]);
        EXPECT_EQ(s.copy(), GGML_STATUS_FAILED) << missing;
        s.expect_target_unchanged();
    }
}

TEST(mapped_copy, with_one_answer_for_two_tensors_fails_and_changes_nothing) {
    Sample s;
    s.map[s.d] = s.map[s.c];
    EXPECT_EQ(s.copy(), GGML_STATUS_FAILED);
    s.expect_target_unchanged();
}

TEST(mapped_copy, with_an_edge_that_was_not_remapped_fails_and_changes_nothing) {
    Sample s;
    s.map[s.c]->src[1] = s.a;
    EXPECT_EQ(s.copy(), GGML_STATUS_FAILED);
    s.expect_target_unchanged();
    s.map[s.c]->src[1] = nullptr;
    EXPECT_EQ(s.copy(), GGML_STATUS_FAILED);
    s.expect_target_unchanged();
    s.map[s.c]->src[1] = s.map[s.a];
    s.map[s.d]->src[5] = s.map[s.a];
    EXPECT_EQ(s.copy(), GGML_STATUS_FAILED) << "an edge too many";
    s.expect_target_unchanged();
}

TEST(mapped_copy, into_too_small_a_graph_is_an_allocation_failure) {
    Sample s;
    ggml_cgraph * small = ggml_new_graph_custom(s.m.ctx(), 2, false);
    EXPECT_EQ(ggml_graph_copy_mapped(small, s.graph, look_up, &s.map), GGML_STATUS_ALLOC_FAILED);
    EXPECT_EQ(small->n_nodes, 0);
    EXPECT_EQ(small->visited.count(), 0u);
}

TEST(mapped_copy, needs_two_graphs_and_a_mapping) {
    Sample s;
    EXPECT_EQ(ggml_graph_copy_mapped(s.graph, s.graph, look_up, &s.map), GGML_STATUS_FAILED);
    EXPECT_EQ(ggml_graph_copy_mapped(nullptr, s.graph, look_up, &s.map), GGML_STATUS_FAILED);
    EXPECT_EQ(ggml_graph_copy_mapped(s.target, nullptr, look_up, &s.map), GGML_STATUS_FAILED);
    EXPECT_EQ(ggml_graph_copy_mapped(s.target, s.graph, nullptr, &s.map), GGML_STATUS_FAILED);
    s.expect_target_unchanged();
}

TEST(segment_use_counts, come_from_the_whole_graph) {
    Sample s;
    ggml_cgraph * segment = ggml_new_graph_custom(s.m.ctx(), 4, false);
    ggml_graph_add_node(segment, s.b);
    ASSERT_EQ(ggml_graph_add_leaf(segment, s.a), GGML_STATUS_SUCCESS);
    ASSERT_EQ(ggml_graph_copy_use_counts(segment, s.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(use_count(segment, s.a), 2);
    EXPECT_EQ(use_count(segment, s.b), 1) << "c is in another segment and still needs it";
    EXPECT_EQ(segment->n_nodes, 1);
    EXPECT_EQ(segment->n_leafs, 1);
}

TEST(segment_use_counts, cover_sources_the_segment_does_not_list) {
    Sample s;
    ggml_cgraph * segment = ggml_new_graph_custom(s.m.ctx(), 4, false);
    ggml_graph_add_node(segment, s.c);
    ASSERT_EQ(ggml_graph_copy_use_counts(segment, s.graph), GGML_STATUS_SUCCESS);
    EXPECT_EQ(use_count(segment, s.a), 2);
    EXPECT_EQ(use_count(segment, s.b), 1);
    EXPECT_EQ(segment->n_leafs, 0);
}

TEST(segment_use_counts, of_an_unknown_tensor_fail_and_change_nothing) {
    Sample s;
    ggml_cgraph * segment = ggml_new_graph_custom(s.m.ctx(), 4, false);
    ggml_graph_add_node(segment, s.b);
    ggml_graph_add_node(segment, s.old_node);
    EXPECT_EQ(ggml_graph_copy_use_counts(segment, s.graph), GGML_STATUS_FAILED);
    EXPECT_EQ(use_count(segment, s.b), 0);
    EXPECT_EQ(segment->visited.count(), 2u);
}

TEST(segment_use_counts, that_do_not_fit_are_an_allocation_failure) {
    GraphMaker m;
    std::vector<ggml_tensor *> many;
    for (int i = 0; i < GGML_MAX_SRC; ++i) many.push_back(m.leaf());
    ggml_tensor * x = m.node(GGML_OP_CUSTOM, many);
    ggml_cgraph * g = m.graph({x});
    ggml_cgraph * segment = ggml_new_graph_custom(m.ctx(), 1, false);
    ggml_graph_add_node(segment, x);
    EXPECT_EQ(ggml_graph_copy_use_counts(segment, g), GGML_STATUS_ALLOC_FAILED);
    EXPECT_EQ(segment->visited.count(), 1u);
}

} // namespace
} // namespace ggml::test
