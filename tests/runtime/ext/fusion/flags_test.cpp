#include "tests/runtime/ext/fusion/match_graph.h"

namespace ggml::ext {
namespace {

using test::kAccepted;
using test::MatchGraph;

TEST(ext_fusion, refuses_intermediates_that_are_marked_as_outputs) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a);
    g.nodes({a, b});
    ggml_set_output(b);
    EXPECT_EQ(g.check(0, 2), kAccepted) << "the final node's result is there to be fetched";
    ggml_set_output(a);
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_OUTPUT_FLAG);
}

TEST(ext_fusion, refuses_intermediates_that_are_marked_as_losses) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a);
    g.nodes({a, b});
    a->flags |= GGML_TENSOR_FLAG_LOSS;
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_OUTPUT_FLAG);
}

TEST(ext_fusion, refuses_intermediates_that_the_caller_fills) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a);
    g.nodes({a, b});
    ggml_set_input(g.x);
    EXPECT_EQ(g.check(0, 2), kAccepted);
    ggml_set_input(a);
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_INPUT_FLAG);
    a->flags = GGML_TENSOR_FLAG_COMPUTE | GGML_TENSOR_FLAG_PARAM;
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_INPUT_FLAG);
}

TEST(ext_fusion, refuses_a_marked_view_of_an_intermediate) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *view = ggml_transpose(g.ctx(), a);
    ggml_tensor * b = ggml_cont(g.ctx(), view);
    g.nodes({a, view, b});
    EXPECT_EQ(g.check(0, 3), kAccepted);
    view->flags |= GGML_TENSOR_FLAG_OUTPUT;
    EXPECT_EQ(g.check(0, 3), GGML_EXT_REASON_OUTPUT_FLAG);
}

TEST(ext_fusion, retains_an_owner_that_inherited_the_output_flag_of_the_final_node) {
    MatchGraph g;
    ggml_tensor *owner = ggml_mul(g.ctx(), g.x, g.y), *final = ggml_add_inplace(g.ctx(), owner, g.z);
    g.nodes({owner, final});
    ggml_set_output(final);
    ASSERT_NE(owner->flags & GGML_TENSOR_FLAG_OUTPUT, 0);
    EXPECT_EQ(g.check(0, 2), kAccepted);
    EXPECT_TRUE(g.skips({}));
}

TEST(ext_fusion, an_in_place_node_between_owner_and_final_must_not_be_marked) {
    MatchGraph g;
    ggml_tensor * owner = ggml_mul(g.ctx(), g.x, g.y);
    ggml_tensor * between = ggml_add_inplace(g.ctx(), owner, g.z);
    ggml_tensor * final = ggml_scale_inplace(g.ctx(), between, 2.0f);
    g.nodes({owner, between, final});
    EXPECT_EQ(g.check(0, 3), kAccepted);
    EXPECT_TRUE(g.skips({between}));
    ggml_set_output(between);
    EXPECT_EQ(g.check(0, 3), GGML_EXT_REASON_OUTPUT_FLAG);
}

TEST(ext_fusion, an_owner_that_the_caller_fills_is_not_retained) {
    MatchGraph g;
    ggml_tensor *owner = ggml_mul(g.ctx(), g.x, g.y), *final = ggml_add_inplace(g.ctx(), owner, g.z);
    g.nodes({owner, final});
    ggml_set_input(owner);
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_INPUT_FLAG);
}

} // namespace
} // namespace ggml::ext
