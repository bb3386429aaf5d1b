#include "tests/runtime/ext/fusion/match_graph.h"

namespace ggml::ext {
namespace {

using test::kAccepted;
using test::MatchGraph;

TEST(ext_fusion, refuses_a_final_node_that_computes_nothing) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a);
    ggml_tensor *view = ggml_transpose(g.ctx(), b), *flat = ggml_reshape_1d(g.ctx(), b, 64);
    g.nodes({a, b, view, flat});
    EXPECT_EQ(g.check(0, 2), kAccepted);
    EXPECT_EQ(g.check(0, 3), GGML_EXT_REASON_FINAL_VIEW);
    EXPECT_EQ(g.check(0, 4), GGML_EXT_REASON_FINAL_VIEW);
}

TEST(ext_fusion, a_terminal_copy_keeps_its_destination) {
    MatchGraph g;
    ggml_tensor * cache = g.matrix();
    ggml_tensor * window = ggml_view_2d(g.ctx(), cache, 8, 4, 2 * cache->nb[1], cache->nb[1]);
    ggml_tensor * half = ggml_new_tensor_2d(g.ctx(), GGML_TYPE_F32, 8, 4);
    ggml_tensor *a = ggml_silu(g.ctx(), half), *copy = ggml_cpy(g.ctx(), a, window);
    g.nodes({a, window, copy});
    EXPECT_EQ(g.check(0, 3), GGML_EXT_REASON_VIEW_OUTSIDE) << "the window shows storage from outside";
    std::swap(g.graph()->nodes[0], g.graph()->nodes[1]);
    EXPECT_EQ(g.check(1, 2), kAccepted) << "any part of it may be written";
    EXPECT_TRUE(g.skips({a}));
}

TEST(ext_fusion, a_terminal_conversion_owns_its_result) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *cast = ggml_cast(g.ctx(), a, GGML_TYPE_F16);
    ggml_tensor * b = ggml_cast(g.ctx(), cast, GGML_TYPE_F32);
    g.nodes({a, cast, b});
    EXPECT_EQ(g.check(0, 2), kAccepted);
    EXPECT_TRUE(g.skips({a}));
    EXPECT_EQ(g.check(0, 3), kAccepted) << "and may be an intermediate";
    EXPECT_TRUE(g.skips({a, cast}));
}

TEST(ext_fusion, refuses_other_final_writes_outside) {
    MatchGraph g;
    ggml_tensor * rows = ggml_new_tensor_1d(g.ctx(), GGML_TYPE_I64, 8);
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *add = ggml_add_inplace(g.ctx(), g.y, a);
    ggml_tensor *b = ggml_sqr(g.ctx(), g.x), *set = ggml_set_rows(g.ctx(), g.z, b, rows);
    g.nodes({a, add, b, set});
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_FINAL_OUTSIDE);
    EXPECT_EQ(g.check(2, 2), GGML_EXT_REASON_FINAL_OUTSIDE) << "rows that are not written keep their values";
}

TEST(ext_fusion, retains_the_owner_of_an_exact_writeback) {
    MatchGraph g;
    ggml_tensor * before = ggml_silu(g.ctx(), g.x);
    ggml_tensor * owner = ggml_mul(g.ctx(), before, g.y);
    ggml_tensor * final = ggml_add_inplace(g.ctx(), owner, g.z);
    ggml_tensor * later = ggml_sqr(g.ctx(), final);
    g.nodes({before, owner, final, later});
    EXPECT_EQ(g.check(0, 3), kAccepted);
    EXPECT_TRUE(g.skips({before}));
    EXPECT_EQ(g.check(0, 4), kAccepted) << "with a final node of its own nothing is retained";
    EXPECT_TRUE(g.skips({before, owner, final}));
}

TEST(ext_fusion, a_copy_into_the_match_is_a_writeback) {
    MatchGraph g;
    ggml_tensor *owner = ggml_mul(g.ctx(), g.x, g.y), *b = ggml_silu(g.ctx(), owner);
    ggml_tensor * copy = ggml_cpy(g.ctx(), b, owner);
    g.nodes({owner, b, copy});
    EXPECT_EQ(g.check(0, 3), kAccepted);
    EXPECT_TRUE(g.skips({b}));
    EXPECT_EQ(g.check(1, 2), kAccepted) << "without the owner it is a copy to the outside";

    MatchGraph h;
    ggml_tensor * whole = ggml_mul(h.ctx(), h.x, h.y);
    ggml_tensor * part = ggml_view_2d(h.ctx(), whole, 8, 4, whole->nb[1], 0);
    ggml_tensor * into = ggml_cpy(h.ctx(), ggml_new_tensor_2d(h.ctx(), GGML_TYPE_F32, 8, 4), part);
    h.nodes({whole, part, into});
    EXPECT_EQ(h.check(0, 3), GGML_EXT_REASON_WRITEBACK_PARTIAL);
}

TEST(ext_fusion, refuses_a_writeback_of_less_than_all) {
    MatchGraph g;
    ggml_tensor * owner = ggml_mul(g.ctx(), g.x, g.y);
    ggml_tensor * upper = ggml_view_2d(g.ctx(), owner, 8, 4, owner->nb[1], 0);
    ggml_tensor * final = ggml_scale_inplace(g.ctx(), upper, 2.0f);
    g.nodes({owner, upper, final});
    EXPECT_EQ(g.check(0, 3), GGML_EXT_REASON_WRITEBACK_PARTIAL) << "shape";

    MatchGraph h;
    ggml_tensor * flat_owner = ggml_mul(h.ctx(), h.x, h.y);
    ggml_tensor * flat = ggml_reshape_1d(h.ctx(), flat_owner, 64);
    ggml_tensor * flat_final = ggml_scale_inplace(h.ctx(), flat, 2.0f);
    h.nodes({flat_owner, flat, flat_final});
    EXPECT_EQ(h.check(0, 3), GGML_EXT_REASON_WRITEBACK_PARTIAL) << "all bytes, but another shape";

    MatchGraph t;
    ggml_tensor * straight = ggml_mul(t.ctx(), t.x, t.y);
    ggml_tensor * turned = ggml_transpose(t.ctx(), straight);
    ggml_tensor * turned_final = ggml_add_inplace(t.ctx(), turned, t.z);
    t.nodes({straight, turned, turned_final});
    EXPECT_EQ(t.check(0, 3), GGML_EXT_REASON_WRITEBACK_PARTIAL) << "strides";
}

TEST(ext_fusion, refuses_a_writeback_of_another_type_or_start) {
    MatchGraph g;
    ggml_tensor *owner = ggml_mul(g.ctx(), g.x, g.y), *final = ggml_add_inplace(g.ctx(), owner, g.z);
    g.nodes({owner, final});
    EXPECT_EQ(g.check(0, 2), kAccepted);
    final->type = GGML_TYPE_I32;
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_WRITEBACK_PARTIAL);
    final->type = GGML_TYPE_F32;
    final->view_offs = 4;
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_WRITEBACK_PARTIAL);
}

TEST(ext_fusion, refuses_an_owner_that_others_read) {
    MatchGraph g;
    ggml_tensor *owner = ggml_mul(g.ctx(), g.x, g.y), *final = ggml_add_inplace(g.ctx(), owner, g.z);
    ggml_tensor * reader = ggml_sqr(g.ctx(), owner);
    g.nodes({owner, final, reader});
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_OWNER_READ_OUTSIDE);
    MatchGraph h;
    ggml_tensor *o = ggml_mul(h.ctx(), h.x, h.y), *f = ggml_add_inplace(h.ctx(), o, h.z);
    ggml_tensor * unseen = ggml_sqr(h.ctx(), ggml_view_tensor(h.ctx(), o));
    h.nodes({o, f, unseen});
    EXPECT_EQ(h.check(0, 2), GGML_EXT_REASON_OWNER_READ_OUTSIDE) << "through a view without an edge";
}

} // namespace
} // namespace ggml::ext
