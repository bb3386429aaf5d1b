#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

TEST(dup, gives_a_contiguous_tensor_of_the_same_shape) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 1, 1});
    expect_node(ggml_dup(g, ggml_transpose(g, a)),
                {GGML_OP_DUP, GGML_TYPE_F32, {3, 8, 1, 1}, {"a (transposed)"}});
    expect_in_place(ggml_dup_inplace(g, a), a);
}

TEST(cpy, is_a_view_of_the_destination_named_after_both) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 3, 1, 1});
    ggml_tensor * b = g.input("b", {24, 1, 1, 1}, GGML_TYPE_F16);
    ggml_tensor * t = ggml_cpy(g, a, b);
    expect_described(t, {GGML_OP_CPY, GGML_TYPE_F16, {24, 1, 1, 1}, {"a", "b"}});
    EXPECT_EQ(t->view_src, b);
    EXPECT_STREQ(t->name, "b (copy of a)");
    ggml_set_name(b, "");
    EXPECT_STREQ(ggml_cpy(g, a, b)->name, "a (copy)");
    expect_stops({"ggml_cpy", "f32 [8, 3, 1, 1], f32 [8, 2, 1, 1]"}, [&] {
        ggml_cpy(g, a, g.input("c", {8, 2, 1, 1}));
    });
}

TEST(cast, is_a_copy_whose_destination_is_itself) {
    OpGraph g;
    ggml_tensor * t = ggml_cast(g, g.input("a", {32, 3, 1, 1}), GGML_TYPE_Q8_0);
    expect_node(t, {GGML_OP_CPY, GGML_TYPE_Q8_0, {32, 3, 1, 1}, {"a", "a (copy)"}});
    EXPECT_EQ(t->src[1], t);
    expect_stops({"ggml_cast", "q8_0 [24"}, [&] {
        ggml_cast(g, g.input("a", {24, 3, 1, 1}), GGML_TYPE_Q8_0);
    });
}

TEST(cont, may_change_the_shape_but_not_the_count) {
    OpGraph g;
    ggml_tensor * a = ggml_transpose(g, g.input("x", {4, 6, 1, 1}));
    ggml_set_name(a, "a");
    expect_node(ggml_cont(g, a), {GGML_OP_CONT, GGML_TYPE_F32, {6, 4, 1, 1}, {"a"}});
    EXPECT_STREQ(ggml_cont(g, a)->name, "a (cont)");
    expect_node(ggml_cont_1d(g, a, 24), {GGML_OP_CONT, GGML_TYPE_F32, {24, 1, 1, 1}, {"a"}});
    expect_node(ggml_cont_2d(g, a, 8, 3), {GGML_OP_CONT, GGML_TYPE_F32, {8, 3, 1, 1}, {"a"}});
    expect_node(ggml_cont_3d(g, a, 2, 4, 3), {GGML_OP_CONT, GGML_TYPE_F32, {2, 4, 3, 1}, {"a"}});
    expect_node(ggml_cont_4d(g, a, 2, 2, 2, 3), {GGML_OP_CONT, GGML_TYPE_F32, {2, 2, 2, 3}, {"a"}});
    EXPECT_STREQ(ggml_cont_2d(g, a, 8, 3)->name, "a (cont)");
    expect_stops({"ggml_cont", "f32 [6, 4, 1, 1]"}, [&] { ggml_cont_1d(g, a, 25); });
    expect_stops({"ggml_cont"}, [&] { ggml_cont_2d(g, a, -4, -6); });
    // 2^33 * 2^31 * 24 wraps to 0 in 64 bits.
    expect_stops({"ggml_cont"}, [&] { ggml_cont_3d(g, a, int64_t(1) << 33, int64_t(1) << 31, 24); });
}

} // namespace
} // namespace ggml::test
