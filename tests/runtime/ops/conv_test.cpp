#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

TEST(conv_2d_direct, gives_the_type_of_the_data) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 5, 4, 7}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {20, 30, 4, 2});
    expect_node(ggml_conv_2d_direct(g, a, b, 2, 3, 1, 2, 2, 1),
                {GGML_OP_CONV_2D, GGML_TYPE_F32, {9, 10, 7, 2}, {"a", "b"}, {2, 3, 1, 2, 2, 1}});
    expect_stops({"ggml_conv_2d_direct", "f32 [20, 30, 5, 2]"}, [&] {
        ggml_conv_2d_direct(g, a, g.input("c", {20, 30, 5, 2}), 1, 1, 0, 0, 1, 1);
    });
    expect_stops({"ggml_conv_2d_direct"}, [&] { ggml_conv_2d_direct(g, a, b, 0, 1, 0, 0, 1, 1); });
    expect_stops({"ggml_conv_2d_direct"}, [&] { ggml_conv_2d_direct(g, a, b, 1, 1, 0, 0, 1, 8); });
}

TEST(conv_2d_dw_direct, needs_one_kernel_plane_per_channel) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 3, 1, 4});
    ggml_tensor * b = g.input("b", {20, 30, 4, 2});
    expect_node(ggml_conv_2d_dw_direct(g, a, b, 1, 2, 1, 1, 1, 1),
                {GGML_OP_CONV_2D_DW, GGML_TYPE_F32, {20, 15, 4, 2}, {"a", "b"}, {1, 2, 1, 1, 1, 1}});
    expect_stops({"ggml_conv_2d_dw_direct", "f32 [3, 3, 4, 1]"}, [&] {
        ggml_conv_2d_dw_direct(g, g.input("c", {3, 3, 4, 1}), b, 1, 1, 0, 0, 1, 1);
    });
    expect_stops({"ggml_conv_2d_dw_direct"}, [&] { ggml_conv_2d_dw_direct(g, a, b, 1, 1, -1, 0, 1, 1); });
}

TEST(conv_2d_dw_direct, keeps_channels_innermost_when_the_data_has_them_there) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 3, 1, 4});
    ggml_tensor * b = ggml_permute(g, g.input("x", {4, 20, 30, 2}), 2, 0, 1, 3);
    ASSERT_EQ(shape_of(b), (Shape{20, 30, 4, 2}));
    ggml_tensor * t = ggml_conv_2d_dw_direct(g, a, b, 1, 1, 0, 0, 1, 1);
    EXPECT_EQ(shape_of(t), (Shape{18, 28, 4, 2}));
    EXPECT_EQ((Strides{t->nb[0], t->nb[1], t->nb[2], t->nb[3]}), (Strides{16, 288, 4, 8064}));
}

TEST(conv_3d_direct, splits_the_last_dimension_by_the_given_numbers) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 3, 2, 4 * 5}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {10, 11, 12, 4 * 2}, GGML_TYPE_F16);
    expect_node(
        ggml_conv_3d_direct(g, a, b, 1, 2, 3, 1, 1, 0, 1, 1, 2, 4, 2, 5),
        {GGML_OP_CONV_3D, GGML_TYPE_F32, {10, 6, 4, 10}, {"a", "b"}, {1, 2, 3, 1, 1, 0, 1, 1, 2, 4, 2, 5}});
    expect_stops({"ggml_conv_3d_direct", "f16 [3, 3, 2, 20]"},
                 [&] { ggml_conv_3d_direct(g, a, b, 1, 1, 1, 0, 0, 0, 1, 1, 1, 4, 3, 5); });
    expect_stops({"ggml_conv_3d_direct"},
                 [&] { ggml_conv_3d_direct(g, a, b, 1, 1, 1, 0, 0, 0, 1, 1, 1, -4, -2, -5); });
    expect_stops({"ggml_conv_3d_direct"},
                 [&] { ggml_conv_3d_direct(g, a, b, 1, 1, 1, 0, 0, 0, 1, 1, 12, 4, 2, 5); });
}

TEST(conv_transpose_1d, grows_by_stride_and_kernel) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {4, 6, 3, 1}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {10, 3, 1, 1});
    expect_node(ggml_conv_transpose_1d(g, a, b, 2, 0, 1),
                {GGML_OP_CONV_TRANSPOSE_1D, GGML_TYPE_F32, {22, 6, 1, 1}, {"a", "b"}, {2, 0, 1}});
    const int wrong[][3] = {{0, 0, 1}, {2, 1, 1}, {2, 0, 2}};
    for (const auto & w : wrong) {
        expect_stops({"ggml_conv_transpose_1d", "f16 [4, 6, 3, 1]"},
                     [&] { ggml_conv_transpose_1d(g, a, b, w[0], w[1], w[2]); });
    }
    expect_stops({"ggml_conv_transpose_1d"}, [&] {
        ggml_conv_transpose_1d(g, a, g.input("c", {10, 4, 1, 1}), 2, 0, 1);
    });
    expect_stops({"ggml_conv_transpose_1d"}, [&] {
        ggml_conv_transpose_1d(g, a, g.input("c", {10, 3, 2, 1}), 2, 0, 1);
    });
}

TEST(conv_transpose_2d_p0, grows_by_stride_and_kernel) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 2, 6, 4}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {10, 20, 4, 2});
    expect_node(ggml_conv_transpose_2d_p0(g, a, b, 2),
                {GGML_OP_CONV_TRANSPOSE_2D, GGML_TYPE_F32, {21, 40, 6, 2}, {"a", "b"}, {2}});
    expect_stops({"ggml_conv_transpose_2d_p0", "f32 [10, 20, 4, 2]"},
                 [&] { ggml_conv_transpose_2d_p0(g, a, b, 0); });
    expect_stops({"ggml_conv_transpose_2d_p0"}, [&] {
        ggml_conv_transpose_2d_p0(g, a, g.input("c", {10, 20, 6, 2}), 2);
    });
}

} // namespace
} // namespace ggml::test
