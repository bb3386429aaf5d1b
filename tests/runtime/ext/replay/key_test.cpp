#include "runtime/ext/replay/difference.h"
#include "runtime/ext/replay/key.h"
#include "tests/runtime/ext/replay/fixture.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace ggml::ext::test {
namespace {

struct KeyCase {
    Lab lab{kReusable};
    Graph graph{lab};
    Planned planned{lab, graph};
    KeyBuilder builder;

    Key key(uint64_t stream = 0) {
        Key made;
        builder.build(planned.plan, stream, made);
        return made;
    }
    // The difference that a change makes.
    Difference after(const std::function<void()> & change) {
        const Key before = key();
        change();
        const Key now = key();
        EXPECT_FALSE(before == now);
        return first_difference(before, now, builder);
    }
};

TEST(replay_key, is_the_same_for_the_same_plan_again_and_again) {
    KeyCase c;
    const Key first = c.key();
    Key again;
    for (int i = 0; i < 5; ++i) {
        c.builder.build(c.planned.plan, 0, again);
        EXPECT_TRUE(first == again);
        EXPECT_EQ(first.hash(), again.hash());
    }
    EXPECT_EQ(first_difference(first, again, c.builder).reason, GGML_EXT_REASON_NONE);
}

TEST(replay_key, is_the_same_for_equal_graphs_in_different_arenas) {
    KeyCase c;
    Graph other(c.lab);
    Planned planned(c.lab, other);
    ASSERT_NE(other.out, c.graph.out);
    Key key;
    c.builder.build(planned.plan, 0, key);
    EXPECT_TRUE(key == c.key());
}

TEST(replay_key, numbers_nodes_first_and_other_tensors_by_first_appearance) {
    KeyCase c;
    const Key key = c.key();
    EXPECT_EQ(key.n_nodes, 3u);
    ASSERT_EQ(key.tensors.size(), 5u);
    EXPECT_EQ(c.builder.tensor(3), c.graph.a);
    EXPECT_EQ(c.builder.tensor(4), c.graph.b);
    EXPECT_EQ(key.tensors[1].src[0], 0u);
    EXPECT_EQ(key.tensors[1].src[1], 4u);
    EXPECT_EQ(key.tensors[1].src[2], kNoTensor);
}

TEST(replay_key, keeps_many_tensors_apart) {
    Lab lab;
    ggml_context_ptr ctx(ggml_init({3000 * ggml_tensor_overhead() + ggml_graph_overhead_custom(4096, false),
                                    nullptr, /*no_alloc=*/true}));
    ggml_cgraph * graph = ggml_new_graph_custom(ctx.get(), 4096, false);
    ggml_tensor * t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4);
    for (int i = 0; i < 1000; ++i)
        t = ggml_add(ctx.get(), t, ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 4));
    ggml_build_forward_expand(graph, t);
    PlanRequest request;
    request.backend = lab.backend.get();
    request.graph = graph;
    request.policy = &Policy::of_environment();
    request.placed = true;
    Plan plan(request);
    KeyBuilder builder;
    Key key;
    for (int round = 0; round < 3; ++round) {
        builder.build(plan, 0, key);
        ASSERT_EQ(key.tensors.size(), 2001u);
        for (uint32_t i = 0; i < 1000; ++i) {
            EXPECT_EQ(key.tensors[i].src[0], i > 0 ? i - 1 : 1000u);
            EXPECT_EQ(key.tensors[i].src[1], 1001 + i);
        }
    }
}

TEST(replay_key, every_part_of_a_tensor_counts) {
    struct Part {
        const char * name;
        ggml_ext_reason reason;
        void (*change)(ggml_tensor *, ggml_tensor * other);
    };
    const Part parts[] = {
        {"op", GGML_EXT_REASON_REPLAY_NEW_GRAPH, [](ggml_tensor * t, ggml_tensor *) { t->op = GGML_OP_SUB; }},
        {"src", GGML_EXT_REASON_REPLAY_NEW_GRAPH, [](ggml_tensor * t, ggml_tensor * o) { t->src[1] = o; }},
        {"view_src", GGML_EXT_REASON_REPLAY_NEW_GRAPH,
         [](ggml_tensor * t, ggml_tensor * o) { t->view_src = o; }},
        {"type", GGML_EXT_REASON_REPLAY_NEW_METADATA,
         [](ggml_tensor * t, ggml_tensor *) { t->type = GGML_TYPE_I32; }},
        {"flags", GGML_EXT_REASON_REPLAY_NEW_METADATA,
         [](ggml_tensor * t, ggml_tensor *) { t->flags ^= GGML_TENSOR_FLAG_OUTPUT; }},
        {"op_params", GGML_EXT_REASON_REPLAY_NEW_METADATA,
         [](ggml_tensor * t, ggml_tensor *) { t->op_params[15] = 1; }},
        {"ne", GGML_EXT_REASON_REPLAY_NEW_METADATA, [](ggml_tensor * t, ggml_tensor *) { t->ne[3] = 2; }},
        {"nb", GGML_EXT_REASON_REPLAY_NEW_METADATA, [](ggml_tensor * t, ggml_tensor *) { t->nb[1] *= 2; }},
        {"view_offs", GGML_EXT_REASON_REPLAY_NEW_METADATA,
         [](ggml_tensor * t, ggml_tensor *) { t->view_offs = 4; }},
        {"data", GGML_EXT_REASON_REPLAY_NEW_ADDRESS,
         [](ggml_tensor * t, ggml_tensor *) { t->data = nullptr; }},
        {"buffer", GGML_EXT_REASON_REPLAY_NEW_ADDRESS,
         [](ggml_tensor * t, ggml_tensor *) { t->buffer = nullptr; }},
        {"extra", GGML_EXT_REASON_REPLAY_NEW_ADDRESS, [](ggml_tensor * t, ggml_tensor *) { t->extra = t; }},
    };
    for (const Part & part : parts) {
        KeyCase c;
        const Difference difference = c.after([&] { part.change(c.graph.sum, c.graph.a); });
        EXPECT_EQ(difference.reason, part.reason) << part.name;
        EXPECT_STREQ(difference.what, part.name);
        EXPECT_EQ(difference.node, 1) << part.name;
        EXPECT_STREQ(difference.name, "sum") << part.name;
    }
}

TEST(replay_key, inputs_count_like_nodes_and_are_named_by_who_reads_them) {
    KeyCase c;
    const Difference difference = c.after([&] { c.graph.b->nb[1] = 12; });
    EXPECT_EQ(difference.reason, GGML_EXT_REASON_REPLAY_NEW_METADATA);
    Verdict verdict;
    difference.describe(verdict);
    EXPECT_EQ(verdict.words, "'b', source 1 of node 1: nb[1] is 12, was 64");
}

TEST(replay_key, names_the_cause_before_what_follows_from_it) {
    KeyCase c;
    EXPECT_EQ(c.after([&] {
                   c.graph.sum->data = nullptr;
                   c.graph.out->ne[1] = 2;
               }).reason,
              GGML_EXT_REASON_REPLAY_NEW_METADATA);
    EXPECT_EQ(c.after([&] {
                   c.graph.squared->data = nullptr; // a fused intermediate has no storage
                   c.planned.plan.steps[0].n = 2;
                   c.planned.plan.workspace_bytes = 8;
               }).reason,
              GGML_EXT_REASON_REPLAY_NEW_KERNELS);
}

TEST(replay_key, operators_and_types_are_named) {
    KeyCase c;
    Verdict verdict;
    c.after([&] { c.graph.sum->op = GGML_OP_SUB; }).describe(verdict);
    EXPECT_EQ(verdict.words, "node 1 'sum': SUB, was ADD");
    c.after([&] { c.graph.a->type = GGML_TYPE_I32; }).describe(verdict);
    EXPECT_EQ(verdict.words, "'a', source 0 of node 0: i32, was f32");
}

TEST(replay_key, the_stream_and_the_number_of_nodes_count) {
    KeyCase c;
    EXPECT_EQ(first_difference(c.key(0), c.key(1), c.builder).reason, GGML_EXT_REASON_REPLAY_NEW_STREAM);
    const Difference difference = c.after([&] { c.planned.plan.graph.n_nodes = 2; });
    EXPECT_EQ(difference.reason, GGML_EXT_REASON_REPLAY_NEW_GRAPH);
    EXPECT_EQ(agreement(difference), 0);
}

TEST(replay_key, comparing_and_describing_need_no_graph) {
    Lab lab(kReusable);
    KeyBuilder builder;
    Key first, second;
    Difference difference;
    {
        Graph graph(lab), other(lab, {.n = 20});
        Planned p(lab, graph), q(lab, other);
        builder.build(p.plan, 0, first);
        builder.build(q.plan, 0, second);
        difference = first_difference(first, second, builder);
    }
    EXPECT_FALSE(first == second);
    Verdict verdict;
    difference.describe(verdict);
    EXPECT_EQ(verdict.words, "node 0 'squared': ne[0] is 20, was 16");
}

} // namespace
} // namespace ggml::ext::test
