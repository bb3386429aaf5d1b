#include "tests/runtime/ext/fusion/match_graph.h"

#include "runtime/ops/extension_node.h"

#include <climits>

namespace ggml::ext {
namespace {

using test::kAccepted;
using test::MatchGraph;

TEST(ext_fusion, accepts_a_chain_whose_intermediates_nobody_else_sees) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_mul(g.ctx(), a, g.y), *c = ggml_add(g.ctx(), b, g.z);
    g.nodes({a, b, c});
    EXPECT_EQ(g.check(0, 3), kAccepted);
    EXPECT_TRUE(g.skips({a, b}));
    EXPECT_EQ(g.check(1, 2), kAccepted);
    EXPECT_TRUE(g.skips({b}));
}

TEST(ext_fusion, refuses_ranges_that_are_no_several_nodes_of_the_graph) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_mul(g.ctx(), a, g.y);
    g.nodes({a, b});
    for (const auto & [first, n] : {std::pair{0, 1},
                                    {0, 0},
                                    {0, -2},
                                    {0, 3},
                                    {-1, 2},
                                    {1, 2},
                                    {2, 2},
                                    {7, 2},
                                    {1, INT_MAX},
                                    {INT_MAX, 2}}) {
        EXPECT_EQ(g.check(first, n), GGML_EXT_REASON_MATCH_LENGTH) << first << ", " << n;
    }
}

TEST(ext_fusion, appends_to_what_is_skipped_already) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a);
    g.nodes({a, b});
    std::vector<ggml_tensor *> skipped = {g.x};
    EXPECT_TRUE(Legality(g.graph()).check(0, 2, nullptr, &skipped));
    EXPECT_EQ(skipped, (std::vector<ggml_tensor *>{g.x, a}));
}

TEST(ext_fusion, refuses_nodes_with_unknown_effects) {
    const auto fun = [](ggml_tensor *, const ggml_tensor *, int, int, void *) {};
    MatchGraph g;
    ggml_tensor * a = ggml_silu(g.ctx(), g.x);
    ggml_tensor * custom = ggml_map_custom1(g.ctx(), a, fun, 1, nullptr);
    ggml_tensor * b = ggml_sqr(g.ctx(), custom);
    g.nodes({a, custom, b});
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_NOT_PURE) << "as the final node";
    EXPECT_EQ(g.check(0, 3), GGML_EXT_REASON_NOT_PURE);
    EXPECT_EQ(g.check(1, 2), GGML_EXT_REASON_NOT_PURE);
}

TEST(ext_fusion, accepts_nodes_of_registered_operators) {
    static const ExtensionOpHead op{"test.op.v1"};
    MatchGraph g;
    ggml_tensor * a = ggml_silu(g.ctx(), g.x);
    ggml_tensor * custom = g.matrix();
    custom->src[0] = a;
    set_extension_op(custom, &op, nullptr, 0);
    ggml_tensor * b = ggml_sqr(g.ctx(), custom);
    g.nodes({a, custom, b});
    EXPECT_EQ(g.check(0, 3), kAccepted);
    EXPECT_EQ(g.check(0, 2), kAccepted);
}

TEST(ext_fusion, match_ops_counts_leading_operators_and_says_what_differs) {
    static const ExtensionOpHead op{"test.op.v1"};
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_mul(g.ctx(), a, g.y), *custom = g.matrix();
    custom->src[0] = b;
    set_extension_op(custom, &op, nullptr, 0);
    g.nodes({a, b, custom});
    const ggml_op all[] = {GGML_OP_UNARY, GGML_OP_MUL, GGML_OP_CUSTOM, GGML_OP_ADD};
    Verdict why;
    EXPECT_EQ(ggml_ext_match_ops(g.graph(), 0, all, 3, &why), 3);
    EXPECT_EQ(ggml_ext_match_ops(g.graph(), 1, all + 1, 2, &why), 2);
    EXPECT_EQ(ggml_ext_match_ops(g.graph(), 0, all, 0, &why), 0);
    EXPECT_FALSE(why.refused());
    EXPECT_EQ(ggml_ext_match_ops(g.graph(), 0, all, 4, &why), 3) << "the graph ends";
    EXPECT_EQ(why.reason, GGML_EXT_REASON_NO_MATCH);
    EXPECT_EQ(why.matched, 3);
    EXPECT_EQ(ggml_ext_match_ops(g.graph(), 0, all + 1, 2, &why), 0);
    EXPECT_EQ(why.words, "node 0 is SILU, not MUL");
    EXPECT_EQ(ggml_ext_match_ops(g.graph(), INT_MAX, all, 3, nullptr), 0);
    EXPECT_EQ(ggml_ext_match_ops(nullptr, 0, all, 3, &why), 0);

    // A function of the caller is no registered operator.
    const auto fun = [](ggml_tensor *, int, int, void *) {};
    ggml_tensor * called = ggml_custom_4d(g.ctx(), GGML_TYPE_F32, 8, 8, 1, 1, &b, 1, fun, 1, nullptr);
    g.nodes({a, b, called});
    EXPECT_EQ(ggml_ext_match_ops(g.graph(), 0, all, 3, &why), 2);
}

} // namespace
} // namespace ggml::ext
