#include "tests/runtime/ext/fusion/match_graph.h"

#include "ggml-graph.h"

#include <string>

namespace ggml::ext {
namespace {

using test::kAccepted;
using test::MatchGraph;

TEST(ext_fusion, refuses_intermediates_that_a_node_outside_reads) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a), *c = ggml_add(g.ctx(), b, a);
    ggml_set_name(c, "the reader");
    g.nodes({a, b, c});
    EXPECT_EQ(g.check(0, 3), kAccepted) << "inside it may be read twice";
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_EXTERNAL_USE);
    Verdict why;
    EXPECT_FALSE(Legality(g.graph()).check(0, 2, &why, nullptr));
    EXPECT_EQ(why.node, 0);
    EXPECT_NE(why.words.find("the reader"), std::string::npos) << why.words;
}

TEST(ext_fusion, counts_each_edge_of_a_node_that_reads_twice) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_mul(g.ctx(), a, a);
    g.nodes({a, b});
    EXPECT_EQ(g.check(0, 2), kAccepted);
    ggml_tensor * c = ggml_mul(g.ctx(), a, a);
    g.nodes({a, b, c});
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_EXTERNAL_USE);
}

TEST(ext_fusion, counts_readers_outside_a_view_of_the_graph) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a);
    ggml_tensor *c = ggml_sqrt(g.ctx(), b), *d = ggml_add(g.ctx(), c, b);
    g.nodes({a, b, c, d});
    const ggml_cgraph front = graph_view(g.graph(), 0, 3);
    EXPECT_EQ(g.check(&front, 0, 2), kAccepted);
    EXPECT_EQ(g.check(&front, 0, 3), GGML_EXT_REASON_EXTERNAL_USE) << "d is another device's node";
    EXPECT_EQ(g.check(0, 4), kAccepted);
}

TEST(ext_fusion, counts_views_outside_the_match) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a), *view = ggml_transpose(g.ctx(), a);
    ggml_tensor * c = ggml_cont(g.ctx(), view);
    g.nodes({a, b, view, c});
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_EXTERNAL_USE);

    MatchGraph h;
    ggml_tensor *o = ggml_silu(h.ctx(), h.x), *v = ggml_transpose(h.ctx(), o), *r = ggml_cont(h.ctx(), v);
    ggml_tensor * w = ggml_cont(h.ctx(), ggml_view_2d(h.ctx(), v, 8, 1, v->nb[1], 0));
    h.nodes({o, v, r, w->src[0], w});
    EXPECT_EQ(h.check(0, 3), GGML_EXT_REASON_EXTERNAL_USE) << "a view of the view";
}

TEST(ext_fusion, sees_storage_that_a_view_without_an_edge_shows) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a);
    ggml_tensor * c = ggml_sqrt(g.ctx(), ggml_view_tensor(g.ctx(), a));
    g.nodes({a, b});
    EXPECT_EQ(g.check(0, 2), kAccepted);
    g.nodes({a, b, c});
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_EXTERNAL_USE);
    const ggml_cgraph front = graph_view(g.graph(), 0, 2);
    EXPECT_EQ(g.check(&front, 0, 2), GGML_EXT_REASON_EXTERNAL_USE) << "though c is another device's node";
}

TEST(ext_fusion, counts_a_reader_that_is_not_chosen) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a), *c = ggml_sqrt(g.ctx(), a);
    g.nodes({a, b});
    ggml_build_forward_order(g.graph(), c); // in the graph, but nobody computes it
    ASSERT_EQ(c->flags & GGML_TENSOR_FLAG_COMPUTE, 0);
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_EXTERNAL_USE);
}

TEST(ext_fusion, does_not_trust_counts_that_were_never_recorded) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a);
    g.nodes({a, b});
    ggml_cgraph * part = ggml_new_graph_custom(g.ctx(), 16, false);
    ggml_graph_add_node(part, a);
    ggml_graph_add_node(part, b);
    EXPECT_EQ(g.check(part, 0, 2), GGML_EXT_REASON_EXTERNAL_USE);
    ASSERT_EQ(ggml_graph_copy_use_counts(part, g.graph()), GGML_STATUS_SUCCESS);
    EXPECT_EQ(g.check(part, 0, 2), kAccepted);
}

TEST(ext_fusion, a_result_that_nobody_reads_is_no_intermediate) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), g.y);
    g.nodes({a, b});
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_UNUSED_RESULT);
}

TEST(ext_fusion, a_conversion_does_not_use_itself) {
    MatchGraph g;
    ggml_tensor *cast = ggml_cast(g.ctx(), g.x, GGML_TYPE_F16), *b = ggml_sqr(g.ctx(), g.y);
    g.nodes({cast, b});
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_UNUSED_RESULT);
}

TEST(ext_fusion, an_unread_write_into_an_intermediate_is_a_result) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *copy = ggml_cpy(g.ctx(), g.y, a);
    ggml_tensor * b = ggml_sqr(g.ctx(), a);
    g.nodes({a, copy, b});
    EXPECT_EQ(g.check(0, 3), GGML_EXT_REASON_UNUSED_RESULT);
}

} // namespace
} // namespace ggml::ext
