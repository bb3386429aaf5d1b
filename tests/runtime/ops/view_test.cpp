#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

void expect_strides(const ggml_tensor * t, const Strides & nb) {
    EXPECT_EQ((Strides{t->nb[0], t->nb[1], t->nb[2], t->nb[3]}), nb);
}

TEST(reshape, is_a_contiguous_view_of_the_same_elements) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 2, 1});
    const auto check = [&](ggml_tensor * t, const Shape & ne, const Strides & nb) {
        expect_described(t, {GGML_OP_RESHAPE, GGML_TYPE_F32, ne, {"a"}});
        expect_strides(t, nb);
        EXPECT_EQ(t->view_src, a);
        EXPECT_STREQ(t->name, "a (reshaped)");
    };
    check(ggml_reshape(g, a, g.input("b", {6, 8, 1, 1}, GGML_TYPE_F16)), {6, 8, 1, 1}, {4, 24, 192, 192});
    check(ggml_reshape_1d(g, a, 48), {48, 1, 1, 1}, {4, 192, 192, 192});
    check(ggml_reshape_2d(g, a, 24, 2), {24, 2, 1, 1}, {4, 96, 192, 192});
    check(ggml_reshape_3d(g, a, 2, 3, 8), {2, 3, 8, 1}, {4, 8, 24, 192});
    check(ggml_reshape_4d(g, a, 2, 3, 4, 2), {2, 3, 4, 2}, {4, 8, 24, 96});
}

TEST(reshape, refuses_other_counts_and_layouts) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 2, 1});
    expect_stops({"ggml_reshape", "f32 [8, 3, 2, 1]"}, [&] { ggml_reshape_2d(g, a, 24, 3); });
    expect_stops({"ggml_reshape"}, [&] { ggml_reshape_2d(g, a, -24, -2); });
    expect_stops({"ggml_reshape"}, [&] { ggml_reshape_1d(g, ggml_transpose(g, a), 48); });
    expect_stops({"ggml_reshape"}, [&] { ggml_reshape_3d(g, a, int64_t(1) << 32, int64_t(1) << 32, 48); });
    expect_stops({"ggml_reshape"}, [&] {
        ggml_reshape_2d(g, g.input("q", {32, 3, 1, 1}, GGML_TYPE_Q4_0), 24, 4);
    });
}

TEST(view, takes_offset_and_strides_in_bytes) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 6, 5, 4}); // strides 4, 32, 192, 960
    const auto check = [&](ggml_tensor * t, const Shape & ne, const Strides & nb, size_t offset) {
        expect_described(t, {GGML_OP_VIEW, GGML_TYPE_F32, ne, {"a"}, {int32_t(offset)}});
        expect_strides(t, nb);
        EXPECT_EQ(t->view_src, a);
        EXPECT_EQ(t->view_offs, offset);
        EXPECT_STREQ(t->name, "a (view)");
    };
    check(ggml_view_1d(g, a, 5, 40), {5, 1, 1, 1}, {4, 20, 20, 20}, 40);
    check(ggml_view_2d(g, a, 4, 3, 32, 8), {4, 3, 1, 1}, {4, 32, 96, 96}, 8);
    check(ggml_view_3d(g, a, 4, 3, 2, 32, 192, 8), {4, 3, 2, 1}, {4, 32, 192, 384}, 8);
    check(ggml_view_4d(g, a, 4, 3, 2, 2, 64, 192, 960, 8), {4, 3, 2, 2}, {4, 64, 192, 960}, 8);
}

TEST(view, of_a_view_looks_into_the_owner) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 6, 1, 1});
    ggml_tensor * outer = ggml_view_2d(g, a, 8, 4, 32, 32);
    ggml_tensor * inner = ggml_view_1d(g, outer, 8, 64);
    EXPECT_EQ(inner->view_src, a);
    EXPECT_EQ(inner->view_offs, 96u);
    EXPECT_EQ(inner->src[0], outer);
    EXPECT_EQ(inner->op_params[0], 64);
}

TEST(view, ends_at_the_last_byte_of_the_source) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 6, 1, 1}); // 192 bytes
    EXPECT_EQ(ggml_view_2d(g, a, 4, 6, 32, 16)->op, GGML_OP_VIEW);
    expect_stops({"ggml_view", "f32 [8, 6, 1, 1]"}, [&] { ggml_view_2d(g, a, 4, 6, 32, 20); });
    expect_stops({"ggml_view"}, [&] { ggml_view_1d(g, a, 49, 0); });
    expect_stops({"ggml_view"}, [&] { ggml_view_1d(g, a, 1, 192); });
    expect_stops({"ggml_view"}, [&] { ggml_view_1d(g, a, -1, 0); });
    expect_stops({"ggml_view"}, [&] { ggml_view_2d(g, a, 1, 2, size_t(0) - 16, 0); });
    expect_stops({"ggml_view"}, [&] { ggml_view_1d(g, a, 4, size_t(0) - 16); });
    expect_stops({"ggml_view"}, [&] { ggml_view_1d(g, ggml_view_1d(g, a, 8, 128), 9, 32); });
    expect_stops({"ggml_view"}, [&] { ggml_view_3d(g, a, 1, 1, int64_t(1) << 40, 4, size_t(1) << 40, 0); });
}

TEST(view, an_empty_window_needs_no_bytes_and_offers_none) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 6, 1, 1});
    ggml_tensor * empty = ggml_view_1d(g, a, 0, 192);
    EXPECT_TRUE(ggml_is_empty(empty));
    expect_stops({"ggml_view"}, [&] { ggml_view_2d(g, empty, 1, 2, 4, 0); });
}

TEST(permute, moves_dimension_i_to_axis_i) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {2, 3, 5, 7}); // strides 4, 8, 24, 120
    ggml_tensor * t = ggml_permute(g, a, 2, 0, 3, 1);
    expect_described(t, {GGML_OP_PERMUTE, GGML_TYPE_F32, {3, 7, 2, 5}, {"a"}, {2, 0, 3, 1}});
    expect_strides(t, {8, 120, 4, 24});
    EXPECT_EQ(t->view_src, a);
    EXPECT_STREQ(t->name, "a (permuted)");
    expect_stops({"ggml_permute", "f32 [2, 3, 5, 7]"}, [&] { ggml_permute(g, a, 0, 1, 1, 3); });
    expect_stops({"ggml_permute"}, [&] { ggml_permute(g, a, 0, 1, 2, 4); });
    expect_stops({"ggml_permute"}, [&] { ggml_permute(g, a, -1, 1, 2, 3); });
}

TEST(permute, keeps_strides_above_two_gigabytes) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {int64_t(1) << 30, 2, 2, 1});
    EXPECT_EQ(ggml_permute(g, a, 0, 2, 1, 3)->nb[2], size_t(1) << 32);
}

TEST(transpose, swaps_the_first_two_dimensions) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {2, 3, 5, 7});
    ggml_tensor * t = ggml_transpose(g, a);
    expect_described(t, {GGML_OP_TRANSPOSE, GGML_TYPE_F32, {3, 2, 5, 7}, {"a"}});
    expect_strides(t, {8, 4, 24, 120});
    EXPECT_STREQ(t->name, "a (transposed)");
}

} // namespace
} // namespace ggml::test
