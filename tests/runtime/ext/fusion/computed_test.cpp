#include "tests/runtime/ext/fusion/match_graph.h"

namespace ggml::ext {
namespace {

using test::kAccepted;
using test::MatchGraph;

TEST(ext_fusion, refuses_nodes_without_a_compute_flag) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_mul(g.ctx(), a, g.y), *c = ggml_sqr(g.ctx(), b);
    g.nodes({a, b, c});
    EXPECT_EQ(g.check(0, 3), kAccepted);
    for (ggml_tensor * node : {a, b, c}) {
        const int32_t flags = node->flags;
        node->flags &= ~GGML_TENSOR_FLAG_COMPUTE;
        EXPECT_EQ(g.check(0, 3), GGML_EXT_REASON_MATCH_NOT_COMPUTED);
        node->flags = flags;
    }
}

TEST(ext_fusion, views_need_no_compute_flag) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *view = ggml_transpose(g.ctx(), a);
    ggml_tensor * b = ggml_cont(g.ctx(), view);
    g.nodes({a, view, b});
    view->flags = 0;
    EXPECT_EQ(g.check(0, 3), kAccepted);
}

TEST(ext_fusion, refuses_nodes_without_elements) {
    MatchGraph g;
    ggml_tensor * none = ggml_new_tensor_2d(g.ctx(), GGML_TYPE_F32, 8, 0);
    ggml_tensor *a = ggml_silu(g.ctx(), none), *b = ggml_sqr(g.ctx(), a);
    g.nodes({a, b});
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_MATCH_NOT_COMPUTED);
}

TEST(ext_fusion, refuses_parameters_that_the_graph_lists_as_nodes) {
    MatchGraph g;
    ggml_set_param(g.x);
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a);
    g.nodes({g.x, a, b});
    EXPECT_EQ(g.check(0, 3), GGML_EXT_REASON_MATCH_NOT_COMPUTED);
    EXPECT_EQ(g.check(1, 2), kAccepted);
}

TEST(ext_fusion, refuses_nodes_that_stand_in_the_graph_twice) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a), *c = ggml_sqrt(g.ctx(), g.y);
    g.nodes({a, b, c});
    EXPECT_EQ(g.check(0, 2), kAccepted);
    g.graph()->nodes[g.graph()->n_nodes++] = a;
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_MATCH_LISTED_TWICE);
    g.graph()->nodes[2] = b;
    EXPECT_EQ(g.check(1, 2), GGML_EXT_REASON_MATCH_LISTED_TWICE) << "twice within the match";
}

} // namespace
} // namespace ggml::ext
