#include "tests/runtime/ext/fusion/match_graph.h"

namespace ggml::ext {
namespace {

using test::kAccepted;
using test::MatchGraph;

TEST(ext_fusion, accepts_views_of_storage_inside_the_match_only) {
    MatchGraph g;
    ggml_tensor * a = ggml_silu(g.ctx(), g.x);
    ggml_tensor *view = ggml_transpose(g.ctx(), a), *b = ggml_cont(g.ctx(), view);
    g.nodes({a, view, b});
    EXPECT_EQ(g.check(0, 3), kAccepted);
    EXPECT_TRUE(g.skips({a, view}));
    EXPECT_EQ(g.check(1, 2), GGML_EXT_REASON_VIEW_OUTSIDE);
}

TEST(ext_fusion, accepts_views_of_views_of_storage_inside) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *turned = ggml_transpose(g.ctx(), a);
    ggml_tensor * row = ggml_view_2d(g.ctx(), turned, 8, 1, turned->nb[1], 0);
    ggml_tensor * b = ggml_scale(g.ctx(), row, 2.0f);
    g.nodes({a, turned, row, b});
    EXPECT_EQ(g.check(0, 4), kAccepted);
    EXPECT_TRUE(g.skips({a, turned, row}));
}

TEST(ext_fusion, refuses_a_view_operator_that_shows_nothing) {
    MatchGraph g;
    ggml_tensor *a = g.maker().node(GGML_OP_VIEW, {}), *b = g.maker().node(GGML_OP_SQR, {a});
    g.nodes({a, b});
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_VIEW_OUTSIDE);
}

TEST(ext_fusion, accepts_in_place_intermediates_of_an_earlier_owner_only) {
    MatchGraph g;
    ggml_tensor *owner = ggml_mul(g.ctx(), g.x, g.y), *add = ggml_add_inplace(g.ctx(), owner, g.z);
    ggml_tensor * final = ggml_sqr(g.ctx(), add);
    g.nodes({owner, add, final});
    EXPECT_EQ(g.check(0, 3), kAccepted);
    EXPECT_TRUE(g.skips({owner, add}));
    EXPECT_EQ(g.check(1, 2), GGML_EXT_REASON_IN_PLACE_OUTSIDE) << "without its owner";

    MatchGraph h;
    ggml_tensor *over = ggml_add_inplace(h.ctx(), h.x, h.y), *result = ggml_sqr(h.ctx(), over);
    h.nodes({over, result});
    EXPECT_EQ(h.check(0, 2), GGML_EXT_REASON_IN_PLACE_OUTSIDE) << "an input changes";
}

TEST(ext_fusion, refuses_an_internal_copy_to_the_outside) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *copy = ggml_cpy(g.ctx(), a, g.y);
    ggml_tensor * b = ggml_sqr(g.ctx(), copy);
    g.nodes({a, copy, b});
    EXPECT_EQ(g.check(0, 2), kAccepted) << "as the final node it may";
    EXPECT_EQ(g.check(0, 3), GGML_EXT_REASON_IN_PLACE_OUTSIDE);
}

TEST(ext_fusion, refuses_an_owner_that_comes_later) {
    MatchGraph g;
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *owner = ggml_mul(g.ctx(), a, g.y);
    ggml_tensor * b = ggml_sqr(g.ctx(), owner);
    g.nodes({a, owner, b});
    EXPECT_EQ(g.check(0, 3), kAccepted);
    a->view_src = owner;
    EXPECT_EQ(g.check(0, 3), GGML_EXT_REASON_IN_PLACE_OUTSIDE);
}

TEST(ext_fusion, refuses_intermediates_that_have_storage_already) {
    MatchGraph g;
    std::vector<float> memory(64);
    ggml_tensor *a = ggml_silu(g.ctx(), g.x), *b = ggml_sqr(g.ctx(), a);
    g.nodes({a, b});
    g.x->data = b->data = memory.data();
    EXPECT_EQ(g.check(0, 2), kAccepted) << "inputs and the result may";
    a->data = memory.data();
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_ALREADY_PLACED);
    a->data = nullptr;
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 64);
    a->buffer = buffer;
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_ALREADY_PLACED);
    ggml_backend_buffer_free(buffer);
}

TEST(ext_fusion, a_retained_owner_may_have_storage_unless_inputs_lie_there) {
    MatchGraph g;
    std::vector<float> memory(128);
    ggml_tensor *owner = ggml_mul(g.ctx(), g.x, g.y), *final = ggml_add_inplace(g.ctx(), owner, g.z);
    g.nodes({owner, final});
    owner->data = memory.data();
    g.z->data = memory.data() + 64;
    EXPECT_EQ(g.check(0, 2), kAccepted);
    g.z->data = memory.data() + 32; // the unfused first node overwrites part of what the second reads
    EXPECT_EQ(g.check(0, 2), GGML_EXT_REASON_ALREADY_PLACED);
}

} // namespace
} // namespace ggml::ext
