#include "runtime/alloc/plan.h"

#include "ggml-graph.h"
#include "tests/runtime/graph/graph_maker.h"
#include "tests/support/log_capture.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace ggml::alloc {
namespace {

using test::GraphMaker;

constexpr size_t kBytes = 64; // of GraphMaker's tensors

struct Planned {
    explicit Planned(ggml_cgraph * g, const std::vector<ggml_tensor *> & skip = {}, size_t alignment = 1,
                     size_t max_chunk = SIZE_MAX)
        : graph(g), skipped(skip.size()) {
        spec.alignment = alignment;
        spec.max_chunk = max_chunk;
        for (size_t i = 0; i < skip.size(); ++i) skipped.insert(skip[i], int(i));
        EXPECT_TRUE(make_plan(request(), plan));
    }

    PlanRequest request() const { return {graph, nullptr, nullptr, {&spec, 1}, &skipped}; }
    bool fits(ggml_cgraph * other) const {
        PlanRequest r = request();
        r.graph = other;
        return plan_fits(plan, r);
    }

    const TensorPlan & of(const ggml_tensor * t) const {
        for (Id id = 0; id < Id(plan.layout.n_ids()); ++id) {
            if (plan.layout.tensor(graph, id) == t) return plan.tensors[size_t(id)];
        }
        ADD_FAILURE() << "tensor is not in the plan";
        return plan.tensors[0];
    }
    bool overlap(const ggml_tensor * a, const ggml_tensor * b) const {
        const TensorPlan &p = of(a), &q = of(b);
        return p.chunk == q.chunk && p.offset < q.offset + q.bytes && q.offset < p.offset + p.bytes;
    }
    size_t peak() const {
        return std::accumulate(plan.chunk_sizes[0].begin(), plan.chunk_sizes[0].end(), size_t(0));
    }

    ggml_cgraph * graph;
    TensorNumbers skipped;
    BufferSpec spec;
    GraphPlan plan;
};

ggml_tensor * chain(GraphMaker & m, ggml_tensor * t, ggml_op op, int n) {
    for (int i = 0; i < n; ++i) t = m.node(op, {t});
    return t;
}

TEST(plan, a_chain_of_equal_nodes_needs_two_blocks) {
    GraphMaker m;
    ggml_tensor * last = chain(m, m.leaf(), GGML_OP_CUSTOM, 50);
    EXPECT_EQ(Planned(m.graph({last})).peak(), 2 * kBytes);
}

TEST(plan, a_chain_of_in_place_operators_needs_one_block) {
    GraphMaker m;
    ggml_tensor * last = chain(m, m.leaf(), GGML_OP_SQR, 50);
    Planned p(m.graph({last}));
    EXPECT_EQ(p.peak(), kBytes);
    EXPECT_EQ(p.of(last).in_place_of, p.plan.layout.node_id(48));
}

TEST(plan, reuses_a_block_only_after_its_last_reader) {
    GraphMaker m;
    ggml_tensor * a = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_tensor * b = m.node(GGML_OP_CUSTOM, {a});
    ggml_tensor * c = m.node(GGML_OP_CUSTOM, {b, a});
    ggml_tensor * d = m.node(GGML_OP_CUSTOM, {c});
    Planned p(m.graph({d}));
    EXPECT_FALSE(p.overlap(a, b));
    EXPECT_FALSE(p.overlap(a, c));
    EXPECT_FALSE(p.overlap(b, c));
    EXPECT_EQ(p.peak(), 3 * kBytes);
    EXPECT_TRUE(p.overlap(d, a) || p.overlap(d, b));
}

TEST(plan, keeps_results_nobody_reads) {
    GraphMaker m;
    ggml_tensor * a = m.leaf();
    ggml_tensor * first = m.node(GGML_OP_CUSTOM, {a});
    ggml_tensor * second = chain(m, m.node(GGML_OP_CUSTOM, {a}), GGML_OP_CUSTOM, 10);
    ggml_cgraph * g = m.graph({first, second});
    Planned p(g);
    for (int i = 1; i < g->n_nodes; ++i) EXPECT_FALSE(p.overlap(first, g->nodes[i])) << i;
}

TEST(plan, keeps_what_an_unread_view_shows) {
    GraphMaker m;
    ggml_tensor * a = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_tensor * shown = m.view(a, 8, 8);
    ggml_tensor * later = chain(m, m.node(GGML_OP_CUSTOM, {a}), GGML_OP_CUSTOM, 10);
    ggml_cgraph * g = m.graph({shown, later});
    Planned p(g);
    for (int i = 2; i < g->n_nodes; ++i) EXPECT_FALSE(p.overlap(a, g->nodes[i])) << i;
}

TEST(plan, a_reader_without_operator_keeps_storage_up_to_its_position_only) {
    GraphMaker m;
    ggml_tensor * a = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_tensor * b = m.node(GGML_OP_CUSTOM, {a});
    ggml_tensor * reader = m.view(a, 64, 0, GGML_OP_NONE);
    ggml_tensor * c = m.node(GGML_OP_CUSTOM, {b});
    ggml_tensor * d = m.node(GGML_OP_CUSTOM, {c, b});
    ggml_cgraph * g = ggml_new_graph(m.ctx());
    ggml_tensor * order[] = {a, b, c, reader, d};
    for (ggml_tensor * t : order) ggml_graph_add_node(g, t);
    Planned p(g);
    EXPECT_FALSE(p.overlap(a, c)) << "read after c";
    EXPECT_TRUE(p.overlap(a, d)) << "not read any more";
}

TEST(plan, outputs_are_never_freed_nor_overwritten) {
    GraphMaker m;
    ggml_tensor * a = m.node(GGML_OP_SQR, {m.leaf()});
    ggml_set_output(a);
    ggml_tensor * last = chain(m, a, GGML_OP_SQR, 5);
    ggml_cgraph * g = m.graph({last});
    Planned p(g);
    for (int i = 1; i < g->n_nodes; ++i) EXPECT_FALSE(p.overlap(a, g->nodes[i])) << i;
}

TEST(plan, an_output_view_protects_the_storage_it_shows) {
    GraphMaker m;
    ggml_tensor * a = m.node(GGML_OP_SQR, {m.leaf()});
    ggml_tensor * shown = m.view(a, 64);
    ggml_set_output(shown);
    ggml_tensor * last = chain(m, shown, GGML_OP_SQR, 5);
    ggml_cgraph * g = m.graph({last});
    Planned p(g);
    for (int i = 2; i < g->n_nodes; ++i) EXPECT_FALSE(p.overlap(a, g->nodes[i])) << i;
}

TEST(plan, leafs_and_inputs_do_not_share_bytes_with_each_other_or_anything_before_their_use) {
    GraphMaker m;
    ggml_tensor *a = m.leaf(), *late = m.leaf(), *input = m.node(GGML_OP_CUSTOM, {});
    ggml_set_input(input);
    ggml_tensor * x = chain(m, a, GGML_OP_CUSTOM, 6);
    ggml_tensor * last = m.node(GGML_OP_CUSTOM, {x, late, input});
    ggml_cgraph * g = m.graph({last});
    Planned p(g);
    for (ggml_tensor * kept : {late, input}) {
        EXPECT_FALSE(p.overlap(a, kept));
        for (int i = 0; i < g->n_nodes; ++i) {
            EXPECT_TRUE(g->nodes[i] == input || !p.overlap(g->nodes[i], kept)) << i;
        }
    }
    EXPECT_FALSE(p.overlap(late, input));
}

TEST(plan, views_are_counted_to_their_owner) {
    GraphMaker m;
    ggml_tensor * a = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_tensor * inner = m.view(a, 32, 16);
    ggml_tensor * outer = m.view(inner, 8, 8);
    ggml_tensor * x = chain(m, m.node(GGML_OP_CUSTOM, {a}), GGML_OP_CUSTOM, 4);
    ggml_tensor * last = m.node(GGML_OP_CUSTOM, {x, outer});
    ggml_cgraph * g = ggml_new_graph(m.ctx());
    ggml_build_forward_expand(g, x);
    ggml_build_forward_expand(g, last);
    Planned p(g);
    EXPECT_EQ(p.of(outer).storage, Storage::kView);
    for (ggml_tensor * t = x; t != a; t = t->src[0]) EXPECT_FALSE(p.overlap(a, t));
    EXPECT_FALSE(p.overlap(a, last));
}

TEST(plan, does_not_run_in_place_over_storage_that_is_still_read) {
    GraphMaker m;
    ggml_tensor * a = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_tensor * x = m.node(GGML_OP_SQR, {a});
    ggml_tensor * y = m.node(GGML_OP_ADD, {x, a});
    Planned p(m.graph({y}));
    EXPECT_EQ(p.of(x).in_place_of, kNoId);
    EXPECT_FALSE(p.overlap(x, a));
    EXPECT_NE(p.of(y).in_place_of, kNoId) << "both die here";
}

TEST(plan, does_not_run_in_place_when_the_operator_reads_the_storage_twice) {
    GraphMaker m;
    ggml_tensor * a = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_tensor * x = m.node(GGML_OP_ADD, {a, m.view(a, 8, 8)});
    Planned p(m.graph({x}));
    EXPECT_FALSE(p.overlap(x, a));
}

TEST(plan, overwrites_other_sources_only_of_elementwise_operators) {
    for (ggml_op op :
         {GGML_OP_ADD, GGML_OP_SUB, GGML_OP_MUL, GGML_OP_DIV, GGML_OP_ADD_ID, GGML_OP_SOFT_MAX}) {
        GraphMaker m;
        ggml_tensor * kept = m.node(GGML_OP_CUSTOM, {m.leaf()});
        ggml_set_output(kept);
        ggml_tensor * other = m.node(GGML_OP_CUSTOM, {m.leaf()});
        ggml_tensor * x = m.node(op, {kept, other});
        Planned p(m.graph({x}));
        EXPECT_EQ(p.overlap(x, other), op != GGML_OP_ADD_ID && op != GGML_OP_SOFT_MAX) << op;
    }
}

TEST(plan, runs_in_place_only_with_equal_layouts) {
    GraphMaker m;
    ggml_tensor * a = m.node(GGML_OP_CUSTOM, {m.leaf()}, 64);
    ggml_tensor * smaller = m.node(GGML_OP_SQR, {a}, 32);
    EXPECT_EQ(Planned(m.graph({smaller})).of(smaller).in_place_of, kNoId);
}

TEST(plan, running_in_place_over_the_start_of_a_block_frees_the_rest) {
    GraphMaker m;
    ggml_tensor * a = m.node(GGML_OP_CUSTOM, {m.leaf(64)}, 64);
    ggml_tensor * head = m.view(a, 16);
    ggml_tensor * x = m.node(GGML_OP_SQR, {head}, 16);
    ggml_tensor * y = m.node(GGML_OP_CUSTOM, {x}, 48);
    Planned p(m.graph({y}));
    EXPECT_NE(p.of(x).in_place_of, kNoId);
    EXPECT_EQ(p.of(x).offset, p.of(a).offset);
    EXPECT_EQ(p.peak(), 128u);
    GraphMaker n;
    ggml_tensor * b = n.node(GGML_OP_CUSTOM, {n.leaf(64)}, 64);
    ggml_tensor * tail_reader = n.node(GGML_OP_SQR, {n.view(b, 16, 16)}, 16);
    EXPECT_EQ(Planned(n.graph({tail_reader})).of(tail_reader).in_place_of, kNoId) << "not at the start";
}

TEST(plan, does_not_run_in_place_when_the_result_needs_more_room) {
    GraphMaker m;
    ggml_tensor * a = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_tensor * x = m.node(GGML_OP_SQR, {a});
    BufferSpec spec;
    spec.tensor_bytes = [](const ggml_tensor * t, const void *) -> size_t {
        return t->op == GGML_OP_SQR ? 100 : 64; // as a backend that pads some results
    };
    GraphPlan plan;
    ASSERT_TRUE(make_plan({m.graph({x}), nullptr, nullptr, {&spec, 1}, nullptr}, plan));
    EXPECT_EQ(plan.tensors[size_t(plan.nodes[1])].in_place_of, kNoId);
}

TEST(plan, tensors_with_storage_of_their_own_get_none) {
    GraphMaker m;
    char memory[kBytes];
    ggml_tensor * weight = m.leaf();
    weight->data = memory;
    ggml_tensor * x = m.node(GGML_OP_SQR, {weight});
    Planned p(m.graph({x}));
    EXPECT_EQ(p.of(weight).storage, Storage::kOutside);
    EXPECT_EQ(p.of(x).in_place_of, kNoId);
    EXPECT_EQ(p.peak(), kBytes);
}

TEST(plan, skipped_tensors_take_no_storage_and_their_inputs_live_until_the_last_consumer) {
    GraphMaker m;
    ggml_tensor * input = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_tensor * inner = m.node(GGML_OP_SQR, {input});
    ggml_tensor * shown = m.view(inner, 32);
    ggml_tensor * inner2 = m.node(GGML_OP_CUSTOM, {shown}, 32);
    ggml_tensor * between = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_tensor * last = m.node(GGML_OP_ADD, {inner2, between}, 64);
    ggml_cgraph * g = m.graph({last});
    Planned p(g, {inner, inner2});
    for (ggml_tensor * t : {inner, shown, inner2}) EXPECT_EQ(p.of(t).storage, Storage::kSkipped);
    EXPECT_FALSE(p.overlap(input, between)) << "the fused operator at `last` reads it";
    EXPECT_FALSE(p.overlap(input, last));
    EXPECT_FALSE(p.overlap(between, last)) << "not in place: the fused operator reads in an unknown order";
    EXPECT_TRUE(p.fits(g));
}

TEST(plan, skipping_saves_the_skipped_bytes) {
    GraphMaker m;
    ggml_tensor * a = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_tensor * big = m.node(GGML_OP_CUSTOM, {a}, 4096);
    ggml_tensor * last = m.node(GGML_OP_CUSTOM, {big});
    ggml_cgraph * g = m.graph({last});
    EXPECT_GE(Planned(g).peak(), 4096u);
    EXPECT_LE(Planned(g, {big}).peak(), 3 * kBytes);
}

TEST(plan, tensors_of_an_earlier_part_of_a_graph_get_storage_before_the_first_node) {
    GraphMaker m;
    ggml_tensor * earlier = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_tensor * x = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_tensor * y = m.node(GGML_OP_CUSTOM, {x});
    ggml_tensor * z = m.node(GGML_OP_CUSTOM, {y, earlier});
    ggml_cgraph * part = ggml_new_graph(m.ctx());
    for (ggml_tensor * t : {x, y, z}) ggml_graph_add_node(part, t);
    Planned p(part);
    for (ggml_tensor * t : {x, y, z}) EXPECT_FALSE(p.overlap(earlier, t));
    EXPECT_TRUE(p.fits(part));
}

TEST(plan, a_tensor_listed_as_leaf_and_node_has_one_place) {
    GraphMaker m;
    ggml_tensor * copy = m.leaf();
    ggml_tensor * x = m.node(GGML_OP_CUSTOM, {copy});
    ggml_cgraph * g = ggml_new_graph(m.ctx());
    ASSERT_EQ(ggml_graph_add_leaf(g, copy), GGML_STATUS_SUCCESS);
    for (ggml_tensor * t : {copy, x}) ggml_graph_add_node(g, t);
    Planned p(g);
    EXPECT_EQ(p.plan.placed.size(), 2u);
    EXPECT_EQ(p.peak(), 2 * kBytes);
    EXPECT_TRUE(p.fits(g));
}

TEST(plan, empty_tensors_have_addresses) {
    GraphMaker m;
    ggml_tensor * a = m.leaf(0);
    ggml_tensor * x = m.node(GGML_OP_CUSTOM, {a}, 0);
    Planned p(m.graph({x}), {}, 32);
    EXPECT_EQ(p.peak(), 64u);
    EXPECT_FALSE(p.overlap(a, x));
}

TEST(plan, a_tensor_too_large_for_an_address_is_refused_with_its_name) {
    GraphMaker m;
    ggml_tensor * x = m.node(GGML_OP_CUSTOM, {m.leaf()});
    ggml_set_name(x, "giant");
    BufferSpec spec;
    spec.alignment = 64;
    spec.tensor_bytes = [](const ggml_tensor *, const void *) { return SIZE_MAX; };
    GraphPlan plan;
    test::LogCapture log;
    EXPECT_FALSE(make_plan({m.graph({x}), nullptr, nullptr, {&spec, 1}, nullptr}, plan));
    EXPECT_NE(log.text.find("too large"), std::string::npos);
}

TEST(plan, a_buffer_id_out_of_range_is_refused) {
    GraphMaker m;
    ggml_tensor * x = m.node(GGML_OP_CUSTOM, {m.leaf()});
    for (int id : {-1, 1}) {
        BufferSpec spec;
        GraphPlan plan;
        test::LogCapture log;
        EXPECT_FALSE(make_plan({m.graph({x}), &id, nullptr, {&spec, 1}, nullptr}, plan));
        EXPECT_NE(log.text.find("buffer id"), std::string::npos);
    }
}

} // namespace
} // namespace ggml::alloc
