#include "runtime/alloc/plan.h"

#include "ggml-graph.h"
#include "tests/runtime/graph/graph_maker.h"

#include <gtest/gtest.h>

#include <functional>

namespace ggml::alloc {
namespace {

using test::GraphMaker;

// c = a + b in place, d = custom(c, a); a third leaf is unread. Every instance has the same structure.
struct Sample {
    explicit Sample(int64_t elements = 64) {
        a = m.leaf(elements);
        b = m.leaf(elements);
        shown = m.view(b, elements);
        c = m.node(GGML_OP_ADD, {shown, a}, elements);
        d = m.node(GGML_OP_CUSTOM, {c, a}, elements);
    }
    ggml_cgraph * graph() { return m.graph({d}); }

    GraphMaker m;
    ggml_tensor *a, *b, *shown, *c, *d;
};

class PlanFits : public testing::Test {
  protected:
    PlanFits() { EXPECT_TRUE(make_plan(request(planned.graph()), plan)); }

    PlanRequest request(ggml_cgraph * g, const TensorNumbers * skipped = nullptr) {
        return {g, nullptr, nullptr, {&spec, 1}, skipped};
    }
    bool fits_after(const std::function<void(Sample &)> & change, int64_t elements = 64) {
        Sample other(elements);
        change(other);
        return plan_fits(plan, request(other.graph()));
    }

    Sample planned;
    BufferSpec spec;
    GraphPlan plan;
};

TEST_F(PlanFits, an_equal_graph_of_other_tensors) {
    ASSERT_NE(plan.tensors[size_t(plan.nodes[1])].in_place_of, kNoId) << "the sample has an in-place node";
    EXPECT_TRUE(fits_after([](Sample &) {}));
}

TEST_F(PlanFits, a_smaller_graph_but_not_a_larger_one) {
    EXPECT_TRUE(fits_after([](Sample &) {}, 32));
    EXPECT_FALSE(fits_after([](Sample &) {}, 65));
}

TEST_F(PlanFits, not_another_operator) {
    EXPECT_FALSE(fits_after([](Sample & s) { s.c->op = GGML_OP_CUSTOM; }));
}

TEST_F(PlanFits, not_other_edges_even_with_equal_counts_and_sizes) {
    EXPECT_FALSE(fits_after([](Sample & s) { s.d->src[1] = s.b; }));
    EXPECT_FALSE(fits_after([](Sample & s) { s.d->src[1] = nullptr; }));
    EXPECT_FALSE(fits_after([](Sample & s) { s.d->src[2] = s.a; }));
}

TEST_F(PlanFits, not_other_flags) {
    EXPECT_FALSE(fits_after([](Sample & s) { ggml_set_output(s.c); }));
    EXPECT_FALSE(fits_after([](Sample & s) { ggml_set_input(s.a); }));
}

TEST_F(PlanFits, not_a_different_number_of_nodes_or_leafs) {
    EXPECT_FALSE(fits_after([](Sample & s) { s.d = s.m.node(GGML_OP_CUSTOM, {s.d}); }));
    EXPECT_FALSE(fits_after([](Sample & s) { s.c->src[2] = s.m.leaf(); }));
}

TEST_F(PlanFits, not_a_view_of_something_else) {
    EXPECT_FALSE(fits_after([](Sample & s) { s.shown->view_src = s.a; }));
    EXPECT_FALSE(fits_after([](Sample & s) { s.shown->view_src = nullptr; }));
}

TEST_F(PlanFits, not_an_in_place_node_whose_layout_left_its_source) {
    EXPECT_FALSE(fits_after([](Sample & s) {
        s.c->ne[0] = 32;
        s.c->ne[1] = 2;
    }));
    EXPECT_FALSE(fits_after([](Sample & s) {
        s.c->ne[0] = s.shown->ne[0] = 32;
        s.shown->view_offs = 32;
    })) << "the source does not start where its block does";
}

TEST_F(PlanFits, a_tensor_that_brings_storage_but_not_one_that_lost_it) {
    char memory[64];
    EXPECT_TRUE(fits_after([&](Sample & s) { s.a->data = memory; }));
    Sample with_data;
    with_data.a->data = memory;
    GraphPlan other;
    ASSERT_TRUE(make_plan(request(with_data.graph()), other));
    Sample without;
    EXPECT_FALSE(plan_fits(other, request(without.graph())));
}

TEST_F(PlanFits, only_the_same_skipped_positions) {
    Sample s;
    TensorNumbers skip_c(1), skip_other(1);
    skip_c.insert(s.c, 0);
    skip_other.insert(planned.c, 0); // another tensor, not in this graph
    ggml_cgraph * g = s.graph();
    EXPECT_FALSE(plan_fits(plan, request(g, &skip_c)));
    EXPECT_TRUE(plan_fits(plan, request(g, &skip_other)));
    GraphPlan skipping;
    ASSERT_TRUE(make_plan(request(g, &skip_c), skipping));
    EXPECT_TRUE(plan_fits(skipping, request(g, &skip_c)));
    EXPECT_FALSE(plan_fits(skipping, request(g)));
    EXPECT_TRUE(plan_fits(skipping, request(planned.graph(), &skip_other))) << "same position, rebuilt graph";
}

// Two copies of an input take turns; the graph lists both and reads one.
struct Rotating {
    explicit Rotating(int current, bool permanent = true) {
        ggml_tensor * copies[] = {m.leaf(), m.leaf()};
        for (ggml_tensor * t : copies) {
            ggml_set_input(t);
            if (permanent) ggml_set_output(t);
        }
        ggml_tensor * shown = m.view(copies[current], 64);
        ggml_tensor * x = m.node(GGML_OP_CUSTOM, {shown, copies[current]});
        graph = ggml_new_graph(m.ctx());
        for (ggml_tensor * t : copies) EXPECT_EQ(ggml_graph_add_leaf(graph, t), GGML_STATUS_SUCCESS);
        for (ggml_tensor * t : {copies[current], shown, x}) ggml_graph_add_node(graph, t);
    }
    GraphMaker m;
    ggml_cgraph * graph;
};

TEST_F(PlanFits, permanent_leafs_in_place_of_each_other_but_not_ones_that_are_reused) {
    GraphPlan permanent, reused;
    ASSERT_TRUE(make_plan(request(Rotating(0).graph), permanent));
    EXPECT_TRUE(plan_fits(permanent, request(Rotating(1).graph)));
    EXPECT_TRUE(plan_fits(permanent, request(Rotating(0).graph)));
    EXPECT_FALSE(plan_fits(permanent, request(Rotating(1, false).graph)));
    ASSERT_TRUE(make_plan(request(Rotating(0, false).graph), reused));
    EXPECT_FALSE(plan_fits(reused, request(Rotating(1, false).graph)));
}

TEST_F(PlanFits, an_unlisted_source_only_while_it_stays_unlisted) {
    const auto part = [](Sample & s, bool list_c) {
        ggml_cgraph * g = ggml_new_graph(s.m.ctx());
        ggml_tensor * x = s.m.node(GGML_OP_CUSTOM, {s.a});
        ggml_graph_add_node(g, list_c ? s.c : x);
        ggml_graph_add_node(g, s.d);
        return g;
    };
    Sample s, t, u;
    GraphPlan of_part;
    ASSERT_TRUE(make_plan(request(part(s, false)), of_part));
    EXPECT_TRUE(plan_fits(of_part, request(part(t, false))));
    EXPECT_FALSE(plan_fits(of_part, request(part(u, true))));
}

} // namespace
} // namespace ggml::alloc
