#include "runtime/ext/reorder/reorder.h"

#include "runtime/graph/graph.h"
#include "tests/runtime/graph/graph_maker.h"

#include <array>
#include <climits>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace ggml::ext {
namespace {

using test::GraphMaker;

// Two inputs and a graph whose nodes are exactly those given, in this order.
class Order {
    GraphMaker m_; // first: the inputs live in it
    ggml_cgraph * graph_ = nullptr;

  public:
    ggml_context * ctx() { return m_.ctx(); }
    ggml_tensor * matrix() { return ggml_new_tensor_2d(ctx(), GGML_TYPE_F32, 8, 8); }
    ggml_tensor *x = matrix(), *y = matrix();

    void nodes(const std::vector<ggml_tensor *> & nodes) {
        graph_ = ggml_new_graph_custom(ctx(), 64, false);
        for (ggml_tensor * node : nodes) ggml_build_forward_expand(graph_, node);
        ASSERT_EQ(std::vector<ggml_tensor *>(graph_->nodes, graph_->nodes + graph_->n_nodes), nodes);
    }
    ggml_cgraph * graph() { return graph_; }

    // The reason why not; NONE when it was done.
    ggml_ext_reason delay(int first, int n, int after) {
        const std::vector<ggml_tensor *> before(graph_->nodes, graph_->nodes + graph_->n_nodes);
        Verdict why;
        const bool done = ext::delay(graph_, first, n, after, &why);
        EXPECT_EQ(done, !why.refused()) << why.words;
        if (!done) {
            EXPECT_EQ(std::vector<ggml_tensor *>(graph_->nodes, graph_->nodes + graph_->n_nodes), before);
            EXPECT_FALSE(why.words.empty());
            EXPECT_FALSE(ext::delay(graph_, first, n, after, nullptr)) << "asking why changed the answer";
        }
        return why.reason;
    }
    void expect(const std::vector<ggml_tensor *> & nodes) {
        EXPECT_EQ(std::vector<ggml_tensor *>(graph_->nodes, graph_->nodes + graph_->n_nodes), nodes);
    }
};

constexpr auto kDone = GGML_EXT_REASON_NONE;
constexpr auto kDependency = GGML_EXT_REASON_DELAY_DEPENDENCY;
constexpr auto kAlias = GGML_EXT_REASON_DELAY_ALIAS;
constexpr auto kEffect = GGML_EXT_REASON_DELAY_EFFECT;
constexpr auto kRange = GGML_EXT_REASON_DELAY_RANGE;

TEST(ext_reorder, moves_a_range_behind_independent_nodes_and_keeps_both_orders) {
    Order o;
    ggml_tensor *a = ggml_silu(o.ctx(), o.x), *b = ggml_scale(o.ctx(), a, 2.0f);
    ggml_tensor *c = ggml_sqr(o.ctx(), o.y), *d = ggml_sqrt(o.ctx(), c), *e = ggml_add(o.ctx(), b, d);
    o.nodes({a, b, c, d, e});
    EXPECT_EQ(o.delay(0, 2, 3), kDone);
    o.expect({c, d, a, b, e});
    EXPECT_EQ(o.delay(0, 2, 1), kDone) << "already there";
    o.expect({c, d, a, b, e});
}

TEST(ext_reorder, changes_nothing_but_the_order_and_the_number_of_the_graph) {
    Order o;
    ggml_tensor *a = ggml_silu(o.ctx(), o.x), *b = ggml_sqr(o.ctx(), o.y), *c = ggml_add(o.ctx(), a, b);
    o.nodes({a, b, c});
    const ggml_tensor a0 = *a, b0 = *b, c0 = *c;
    o.graph()->uid = 7;
    EXPECT_EQ(o.delay(0, 1, 0), kDone);
    EXPECT_EQ(o.graph()->uid, 7u) << "nothing moved";
    EXPECT_EQ(o.delay(0, 2, 2), kDependency);
    EXPECT_EQ(o.graph()->uid, 7u);
    EXPECT_EQ(o.delay(0, 1, 1), kDone);
    EXPECT_EQ(o.graph()->uid, 0u) << "what was prepared for the old order is void";
    EXPECT_EQ(std::memcmp(&a0, a, sizeof(a0)) | std::memcmp(&b0, b, sizeof(b0)) |
                  std::memcmp(&c0, c, sizeof(c0)),
              0);
    EXPECT_EQ(use_count(o.graph(), a), 1);
}

TEST(ext_reorder, refuses_places_that_do_not_exist) {
    Order o;
    ggml_tensor *a = ggml_silu(o.ctx(), o.x), *b = ggml_sqr(o.ctx(), o.y);
    o.nodes({a, b});
    for (const auto [first, n, after] : {std::array{-1, 1, 1},
                                         {0, 0, 1},
                                         {0, -1, 1},
                                         {0, 1, 2},
                                         {1, 1, 0},
                                         {0, 2, 0},
                                         {2, 1, 1},
                                         {0, 3, 1},
                                         {1, INT_MAX, 1},
                                         {0, 1, INT_MAX}}) {
        EXPECT_EQ(o.delay(first, n, after), kRange) << first << " " << n << " " << after;
    }
}

TEST(ext_reorder, refuses_to_leave_a_reader_behind) {
    Order o;
    ggml_tensor *a = ggml_silu(o.ctx(), o.x), *view = ggml_transpose(o.ctx(), a);
    ggml_tensor *free = ggml_sqr(o.ctx(), o.y), *b = ggml_cont(o.ctx(), view);
    o.nodes({a, view, free, b});
    EXPECT_EQ(o.delay(0, 1, 1), kDependency) << "a view is nothing before its source";
    EXPECT_EQ(o.delay(0, 2, 3), kDependency);
    EXPECT_EQ(o.delay(0, 2, 2), kDone);
    o.expect({free, a, view, b});
}

TEST(ext_reorder, an_owner_moves_together_with_its_in_place_consumers) {
    Order o;
    ggml_tensor *norm = ggml_rms_norm(o.ctx(), o.x, 1e-5f), *mul = ggml_mul_inplace(o.ctx(), norm, o.y);
    ggml_tensor *other = ggml_sqr(o.ctx(), o.y), *add = ggml_add(o.ctx(), mul, other);
    o.nodes({norm, mul, other, add});
    EXPECT_EQ(o.delay(0, 1, 2), kDependency) << "without them it may not";
    EXPECT_EQ(o.delay(0, 2, 2), kDone);
    o.expect({other, norm, mul, add});
    EXPECT_EQ(mul->view_src, norm);
}

TEST(ext_reorder, refuses_a_read_that_would_pass_a_write) {
    Order o;
    ggml_tensor * read = ggml_silu(o.ctx(), o.x);
    ggml_tensor * write = ggml_add_inplace(o.ctx(), o.x, o.y);
    ggml_tensor * elsewhere = ggml_scale_inplace(o.ctx(), o.y, 2.0f);
    o.nodes({read, write, elsewhere});
    EXPECT_EQ(o.delay(0, 1, 1), kAlias) << "the moved node would read what the crossed one has written";
    EXPECT_EQ(o.delay(1, 1, 2), kAlias) << "the crossed node writes what the moved one reads";
    Order p;
    ggml_tensor * fill = ggml_fill_inplace(p.ctx(), p.x, 1.0f);
    ggml_tensor * later = ggml_silu(p.ctx(), p.x); // without an edge from fill
    ggml_tensor * apart = ggml_silu(p.ctx(), p.y);
    p.nodes({fill, later, apart});
    EXPECT_EQ(p.delay(0, 1, 1), kAlias) << "the crossed node would read before the moved one writes";
    EXPECT_EQ(p.delay(1, 1, 2), kDone);
}

TEST(ext_reorder, refuses_writes_that_would_change_places) {
    Order o;
    ggml_tensor *one = ggml_cpy(o.ctx(), o.y, o.x), *two = ggml_fill_inplace(o.ctx(), o.x, 1.0f);
    o.nodes({one, two});
    EXPECT_EQ(o.delay(0, 1, 1), kAlias);
}

TEST(ext_reorder, crosses_copies_whose_storage_is_apart) {
    Order o;
    ggml_tensor * cache = o.matrix();
    ggml_tensor * left = ggml_view_2d(o.ctx(), cache, 4, 8, cache->nb[1], 0);
    ggml_tensor * right = ggml_view_2d(o.ctx(), cache, 4, 8, cache->nb[1], 16);
    ggml_tensor * half = ggml_cont_2d(o.ctx(), ggml_view_2d(o.ctx(), o.x, 4, 8, o.x->nb[1], 0), 4, 8);
    ggml_tensor *to_left = ggml_cpy(o.ctx(), half, left), *to_right = ggml_cpy(o.ctx(), half, right);
    o.nodes({half->src[0], half, left, to_left, right, to_right});
    EXPECT_EQ(o.delay(2, 2, 5), kDone);
    o.expect({half->src[0], half, right, to_right, left, to_left});

    Order p;
    ggml_tensor * whole = p.matrix();
    ggml_tensor * part = ggml_view_2d(p.ctx(), whole, 4, 8, whole->nb[1], 0);
    ggml_tensor * reads_all = ggml_silu(p.ctx(), whole);
    ggml_tensor * fills_part = ggml_fill_inplace(p.ctx(), ggml_view_1d(p.ctx(), whole, 4, 0), 1.0f);
    p.nodes({reads_all, fills_part->src[0], fills_part});
    EXPECT_EQ(p.delay(0, 1, 2), kAlias) << "part of what is read is written";
    EXPECT_NE(part, nullptr);
}

TEST(ext_reorder, moves_and_crosses_conversions_that_own_their_result) {
    Order o;
    ggml_tensor * a = ggml_silu(o.ctx(), o.x);
    ggml_tensor * cast = ggml_cast(o.ctx(), o.y, GGML_TYPE_F16);
    ggml_tensor * b = ggml_sqr(o.ctx(), o.x);
    o.nodes({a, cast, b});
    EXPECT_EQ(o.delay(0, 1, 1), kDone) << "a conversion is crossed";
    o.expect({cast, a, b});
    EXPECT_EQ(o.delay(0, 1, 2), kDone) << "a conversion is moved";
    o.expect({a, b, cast});
}

TEST(ext_reorder, refuses_unknown_effects_on_either_side) {
    const auto fun = [](ggml_tensor *, const ggml_tensor *, int, int, void *) {};
    Order o;
    ggml_tensor * a = ggml_silu(o.ctx(), o.x);
    ggml_tensor * custom = ggml_map_custom1(o.ctx(), o.y, fun, 1, nullptr);
    ggml_tensor * b = ggml_sqr(o.ctx(), o.x);
    o.nodes({a, custom, b});
    EXPECT_EQ(o.delay(0, 1, 1), kEffect);
    EXPECT_EQ(o.delay(1, 1, 2), kEffect);
    EXPECT_EQ(o.delay(1, 1, 1), kDone) << "nothing moves";
}

TEST(ext_reorder, treats_nodes_that_are_not_computed_yet_as_if_they_were) {
    Order o;
    ggml_tensor *read = ggml_silu(o.ctx(), o.x), *write = ggml_fill_inplace(o.ctx(), o.x, 1.0f);
    o.nodes({read, write});
    write->flags = 0;
    EXPECT_EQ(o.delay(0, 1, 1), kAlias);
}

TEST(ext_reorder, sees_readers_that_have_no_edge) {
    Order o;
    ggml_tensor * a = ggml_silu(o.ctx(), o.x);
    ggml_tensor * b = ggml_sqr(o.ctx(), ggml_view_tensor(o.ctx(), a));
    o.nodes({a, b});
    EXPECT_EQ(o.delay(0, 1, 1), kDependency);
}

TEST(ext_reorder, compares_addresses_once_there_are_some) {
    Order o;
    std::vector<float> memory(64);
    ggml_tensor *a = ggml_silu(o.ctx(), o.x), *b = ggml_sqr(o.ctx(), o.y);
    o.nodes({a, b});
    EXPECT_EQ(o.delay(0, 1, 1), kDone);
    a->data = b->data = memory.data(); // one after the other, as an allocator may decide
    EXPECT_EQ(o.delay(0, 1, 1), kAlias);
}

TEST(ext_reorder, works_inside_a_view_of_a_graph) {
    Order o;
    ggml_tensor *a = ggml_silu(o.ctx(), o.x), *b = ggml_sqr(o.ctx(), o.y), *c = ggml_sqrt(o.ctx(), o.y);
    ggml_tensor * d = ggml_add(o.ctx(), c, b);
    o.nodes({a, c, b, d});
    ggml_cgraph part = graph_view(o.graph(), 1, 2);
    EXPECT_TRUE(delay(&part, 0, 1, 1, nullptr));
    o.expect({a, b, c, d});
    EXPECT_FALSE(delay(&part, 0, 1, 2, nullptr)) << "the view ends before d";
}

TEST(ext_reorder, answers_the_public_call_with_status_and_reason) {
    Order o;
    ggml_tensor *a = ggml_silu(o.ctx(), o.x), *b = ggml_sqr(o.ctx(), o.y), *c = ggml_add(o.ctx(), a, b);
    o.nodes({a, b, c});
    EXPECT_EQ(ggml_ext_graph_delay(o.graph(), 0, 1, 1), GGML_EXT_SUCCESS);
    o.expect({b, a, c});
    EXPECT_EQ(ggml_ext_graph_delay(o.graph(), 0, 1, 2), GGML_EXT_REFUSED);
    EXPECT_EQ(ggml_ext_last_reason(), kDependency);
    EXPECT_NE(std::string(ggml_ext_last_message()).find("node 0"), std::string::npos);
    EXPECT_EQ(ggml_ext_graph_delay(o.graph(), 0, 1, 9), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), kRange);
    EXPECT_EQ(ggml_ext_graph_delay(nullptr, 0, 1, 1), GGML_EXT_INVALID);
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NULL_ARGUMENT);
}

} // namespace
} // namespace ggml::ext
