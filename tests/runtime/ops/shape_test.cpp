#include "tests/runtime/ops/op_graph.h"

#include <limits>

namespace ggml::test {
namespace {

TEST(repeat, tiles_to_the_shape_of_the_second_operand_without_reading_it) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {2, 3, 1, 1}, GGML_TYPE_F16);
    expect_node(ggml_repeat(g, a, g.input("b", {4, 3, 5, 1})),
                {GGML_OP_REPEAT, GGML_TYPE_F16, {4, 3, 5, 1}, {"a"}});
    expect_node(ggml_repeat_4d(g, a, 2, 6, 1, 2), {GGML_OP_REPEAT, GGML_TYPE_F16, {2, 6, 1, 2}, {"a"}});
    expect_stops({"ggml_repeat", "f16 [2, 3, 1, 1], f32 [5, 3, 1, 1]"}, [&] {
        ggml_repeat(g, a, g.input("b", {5, 3, 1, 1}));
    });
    expect_stops({"ggml_repeat"}, [&] { ggml_repeat_4d(g, a, 2, 4, 1, 1); });
    expect_stops({"ggml_repeat"}, [&] { ggml_repeat_4d(g, a, -2, 3, 1, 1); });
    expect_stops({"ggml_repeat"}, [&] { ggml_repeat_4d(g, a, int64_t(1) << 40, int64_t(3) << 40, 1, 1); });
}

TEST(repeat, of_nothing_is_nothing) {
    OpGraph g;
    ggml_tensor * empty = g.input("empty", {0, 3, 1, 1});
    EXPECT_TRUE(ggml_is_empty(ggml_repeat_4d(g, empty, 0, 3, 2, 1)));
    EXPECT_TRUE(ggml_is_empty(ggml_repeat_4d(g, empty, 4, 0, 2, 1)));
    expect_stops({"ggml_repeat"}, [&] { ggml_repeat_4d(g, empty, 4, 3, 1, 1); });
}

TEST(concat, adds_sizes_along_the_joined_dimension) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {2, 3, 4, 5});
    for (int dim = 0; dim < GGML_MAX_DIMS; ++dim) {
        Shape ne = {2, 3, 4, 5};
        ne[dim] = 7;
        ggml_tensor * b = g.input("b", ne);
        ne[dim] += a->ne[dim];
        expect_node(ggml_concat(g, a, b, dim), {GGML_OP_CONCAT, GGML_TYPE_F32, ne, {"a", "b"}, {dim}});
        expect_stops({"ggml_concat", "f32 [2, 3, 4, 5]"},
                     [&] { ggml_concat(g, a, b, (dim + 1) % GGML_MAX_DIMS); });
    }
    expect_stops({"ggml_concat"}, [&] { ggml_concat(g, a, a, 4); });
    expect_stops({"ggml_concat"}, [&] { ggml_concat(g, a, a, -1); });
    expect_stops({"ggml_concat"}, [&] { ggml_concat(g, a, g.input("b", {2, 3, 4, 5}, GGML_TYPE_F16), 0); });
}

TEST(pad, stores_both_sides_of_every_dimension_and_the_mode) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 3, 2, 1});
    expect_node(ggml_pad(g, a, 1, 2, 3, 4),
                {GGML_OP_PAD, GGML_TYPE_F32, {5, 5, 5, 5}, {"a"}, {0, 1, 0, 2, 0, 3, 0, 4, 0}});
    expect_node(ggml_pad_circular(g, a, 1, 2, 3, 4),
                {GGML_OP_PAD, GGML_TYPE_F32, {5, 5, 5, 5}, {"a"}, {0, 1, 0, 2, 0, 3, 0, 4, 1}});
    expect_node(ggml_pad_ext(g, a, 1, 2, 3, 4, 5, 6, 7, 8),
                {GGML_OP_PAD, GGML_TYPE_F32, {7, 10, 13, 16}, {"a"}, {1, 2, 3, 4, 5, 6, 7, 8, 0}});
    expect_node(ggml_pad_ext_circular(g, a, 1, 2, 3, 4, 5, 6, 7, 8),
                {GGML_OP_PAD, GGML_TYPE_F32, {7, 10, 13, 16}, {"a"}, {1, 2, 3, 4, 5, 6, 7, 8, 1}});
}

TEST(pad, crops_with_negative_numbers_down_to_nothing) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 3, 2, 1});
    EXPECT_EQ(ggml_pad_ext(g, a, -1, -2, 0, 0, 0, 0, 0, 0)->ne[0], 1);
    EXPECT_EQ(ggml_pad_ext(g, a, -2, -2, 0, 0, 0, 0, 0, 0)->ne[0], 0);
    expect_stops({"ggml_pad", "f32 [4, 3, 2, 1]"}, [&] { ggml_pad_ext(g, a, -3, -2, 0, 0, 0, 0, 0, 0); });
}

TEST(pad, has_nothing_to_wrap_around_in_an_empty_tensor) {
    OpGraph g;
    ggml_tensor * empty = g.input("empty", {0, 3, 1, 1});
    EXPECT_EQ(ggml_pad(g, empty, 2, 0, 0, 0)->ne[0], 2);
    expect_stops({"ggml_pad_circular", "f32 [0, 3, 1, 1]"}, [&] { ggml_pad_circular(g, empty, 2, 0, 0, 0); });
}

TEST(pad_reflect_1d, mirrors_less_than_a_whole_row) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 3, 2, 1});
    expect_node(ggml_pad_reflect_1d(g, a, 3, 2),
                {GGML_OP_PAD_REFLECT_1D, GGML_TYPE_F32, {9, 3, 2, 1}, {"a"}, {3, 2}});
    expect_stops({"ggml_pad_reflect_1d", "f32 [4, 3, 2, 1]"}, [&] { ggml_pad_reflect_1d(g, a, 4, 0); });
    expect_stops({"ggml_pad_reflect_1d"}, [&] { ggml_pad_reflect_1d(g, a, 0, 4); });
    expect_stops({"ggml_pad_reflect_1d"}, [&] { ggml_pad_reflect_1d(g, a, -1, 0); });
    expect_stops({"ggml_pad_reflect_1d"}, [&] { ggml_pad_reflect_1d(g, ggml_transpose(g, a), 1, 1); });
}

TEST(roll, shifts_by_less_than_the_size) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 3, 2, 1});
    expect_node(ggml_roll(g, a, -3, 2, 1, 0),
                {GGML_OP_ROLL, GGML_TYPE_F32, {4, 3, 2, 1}, {"a"}, {-3, 2, 1, 0}});
    expect_stops({"ggml_roll", "f32 [4, 3, 2, 1]"}, [&] { ggml_roll(g, a, 4, 0, 0, 0); });
    expect_stops({"ggml_roll"}, [&] { ggml_roll(g, a, 0, -3, 0, 0); });
    expect_stops({"ggml_roll"}, [&] { ggml_roll(g, a, std::numeric_limits<int>::min(), 0, 0, 0); });
    expect_stops({"ggml_roll"}, [&] { ggml_roll(g, ggml_transpose(g, a), 0, 0, 0, 0); });
}

} // namespace
} // namespace ggml::test
