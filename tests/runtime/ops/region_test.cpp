#include "tests/runtime/ops/op_graph.h"

#include <limits>

namespace ggml::test {
namespace {

class Region : public ::testing::Test {
  protected:
    OpGraph g;
    ggml_tensor * a = g.input("a", {8, 4, 2, 1}); // rows of 32 bytes, planes of 128
    ggml_tensor * b = g.input("b", {4, 2, 2, 1});
};

TEST_F(Region, parameters_are_strides_offset_and_whether_in_place) {
    expect_node(ggml_acc(g, a, b, 32, 128, 256, 16),
                {GGML_OP_ACC, GGML_TYPE_F32, {8, 4, 2, 1}, {"a", "b"}, {32, 128, 256, 16, 0}});
    expect_node(ggml_set(g, a, b, 32, 128, 256, 16),
                {GGML_OP_SET, GGML_TYPE_F32, {8, 4, 2, 1}, {"a", "b"}, {32, 128, 256, 16, 0}});
    ggml_tensor * acc = ggml_acc_inplace(g, a, b, 32, 128, 256, 16);
    expect_described(acc, {GGML_OP_ACC, GGML_TYPE_F32, {8, 4, 2, 1}, {"a", "b"}, {32, 128, 256, 16, 1}});
    expect_in_place(acc, a);
    ggml_tensor * set = ggml_set_inplace(g, a, b, 32, 128, 256, 16);
    expect_described(set, {GGML_OP_SET, GGML_TYPE_F32, {8, 4, 2, 1}, {"a", "b"}, {32, 128, 256, 16, 1}});
    expect_in_place(set, a);
}

TEST_F(Region, short_forms_take_the_other_strides_from_the_destination) {
    ggml_tensor * row = g.input("row", {8, 1, 1, 1});
    ggml_tensor * plane = g.input("plane", {4, 2, 1, 1});
    const Shape ne = {8, 4, 2, 1};
    expect_node(ggml_set_1d(g, a, row, 32),
                {GGML_OP_SET, GGML_TYPE_F32, ne, {"a", "row"}, {32, 128, 256, 32, 0}});
    expect_in_place(ggml_set_1d_inplace(g, a, row, 32), a);
    expect_node(ggml_set_2d(g, a, plane, 64, 8),
                {GGML_OP_SET, GGML_TYPE_F32, ne, {"a", "plane"}, {64, 128, 256, 8, 0}});
    expect_in_place(ggml_set_2d_inplace(g, a, plane, 64, 8), a);
}

TEST_F(Region, ends_at_the_last_byte_of_the_destination) {
    // The last element of b lies at offset + 128 + 32 + 12.
    EXPECT_EQ(ggml_set(g, a, b, 32, 128, 256, 256 - 176)->op, GGML_OP_SET);
    expect_stops({"ggml_set", "f32 [8, 4, 2, 1], f32 [4, 2, 2, 1]"},
                 [&] { ggml_set(g, a, b, 32, 128, 256, 84); });
    expect_stops({"ggml_acc"}, [&] { ggml_acc(g, a, b, 32, 128, 256, 84); });
    expect_stops({"ggml_acc"}, [&] { ggml_acc_inplace(g, a, b, 32, 256, 256, 0); });
    expect_stops({"ggml_set"}, [&] { ggml_set_1d(g, a, b, size_t(0) - 4); });
    expect_stops({"ggml_set"}, [&] { ggml_set(g, b, a, 32, 128, 256, 0); });
}

TEST_F(Region, strides_that_do_not_fit_into_the_parameters_are_refused_when_used) {
    const size_t large = size_t(1) << 32;
    EXPECT_EQ(ggml_set(g, a, b, 32, 128, large, 0)->op_params[2], std::numeric_limits<int32_t>::max());
    expect_stops({"ggml_set"}, [&] { ggml_set(g, a, b, 32, large, 256, 0); });
    expect_stops({"ggml_set"}, [&] { ggml_set(g, a, b, 32, 128, 256, large); });
}

TEST_F(Region, acc_adds_f32_to_contiguous_f32) {
    expect_stops({"ggml_acc", "f32 [4, 8, 2, 1]"},
                 [&] { ggml_acc(g, ggml_transpose(g, a), b, 32, 128, 256, 0); });
    expect_stops({"ggml_acc"}, [&] {
        ggml_acc(g, a, g.input("c", {4, 2, 2, 1}, GGML_TYPE_F16), 32, 128, 256, 0);
    });
}

} // namespace
} // namespace ggml::test
