#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

TEST(im2col, puts_one_patch_of_all_channels_into_a_row) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 5, 4, 7}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {20, 30, 4, 2});
    // (20 + 2 - 2*2 - 1) / 2 + 1 = 9, (30 + 4 - 1*4 - 1) / 3 + 1 = 10
    expect_node(ggml_im2col(g, a, b, 2, 3, 1, 2, 2, 1, true, GGML_TYPE_F16),
                {GGML_OP_IM2COL, GGML_TYPE_F16, {60, 9, 10, 2}, {"a", "b"}, {2, 3, 1, 2, 2, 1, 1}});
}

TEST(im2col, of_signals_ignores_the_second_axis) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 4, 7, 1}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {20, 4, 2, 1});
    expect_node(ggml_im2col(g, a, b, 1, 0, 1, 0, 1, 0, false, GGML_TYPE_F32),
                {GGML_OP_IM2COL, GGML_TYPE_F32, {12, 20, 2, 1}, {"a", "b"}, {1, 0, 1, 0, 1, 0, 0}});
    expect_stops({"ggml_im2col", "f32 [20, 4, 2, 3]"}, [&] {
        ggml_im2col(g, a, g.input("c", {20, 4, 2, 3}), 1, 0, 1, 0, 1, 0, false, GGML_TYPE_F32);
    });
}

TEST(im2col, a_kernel_that_sticks_out_by_less_than_a_stride_has_one_position) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 1, 1, 1});
    ggml_tensor * b = g.input("b", {2, 1, 1, 1});
    EXPECT_EQ(ggml_im2col(g, a, b, 2, 0, 0, 0, 1, 0, false, GGML_TYPE_F32)->ne[1], 1);
    expect_stops({"ggml_im2col", "f32 [3, 1, 1, 1], f32 [2, 1, 1, 1]"},
                 [&] { ggml_im2col(g, a, b, 1, 0, 0, 0, 1, 0, false, GGML_TYPE_F32); });
}

TEST(im2col, refuses_impossible_numbers_and_channels) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 3, 4, 1});
    ggml_tensor * b = g.input("b", {20, 20, 4, 1});
    const int wrong[][6] = {
        {0, 1, 0, 0, 1, 1}, {1, 0, 0, 0, 1, 1}, {1, 1, -1, 0, 1, 1}, {1, 1, 0, 0, 0, 1}, {1, 1, 0, 0, 1, -1}};
    for (const auto & w : wrong) {
        expect_stops({"ggml_im2col"},
                     [&] { ggml_im2col(g, a, b, w[0], w[1], w[2], w[3], w[4], w[5], true, GGML_TYPE_F16); });
    }
    expect_stops({"ggml_im2col", "f32 [20, 20, 3, 1]"}, [&] {
        ggml_im2col(g, a, g.input("c", {20, 20, 3, 1}), 1, 1, 0, 0, 1, 1, true, GGML_TYPE_F16);
    });
}

TEST(im2col_3d, counts_channels_by_the_given_number) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 3, 2, 4 * 5}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {10, 11, 12, 4 * 2});
    expect_node(
        ggml_im2col_3d(g, a, b, 4, 1, 2, 3, 1, 1, 0, 1, 1, 2, GGML_TYPE_F16),
        {GGML_OP_IM2COL_3D, GGML_TYPE_F16, {72, 10, 6, 8}, {"a", "b"}, {1, 2, 3, 1, 1, 0, 1, 1, 2, 4}});
    for (const int64_t ic : {int64_t(0), int64_t(-4), int64_t(1) << 32}) {
        expect_stops({"ggml_im2col_3d", "f32 [10, 11, 12, 8]"},
                     [&] { ggml_im2col_3d(g, a, b, ic, 1, 1, 1, 0, 0, 0, 1, 1, 1, GGML_TYPE_F16); });
    }
    expect_stops({"ggml_im2col_3d"},
                 [&] { ggml_im2col_3d(g, a, b, 4, 1, 1, 1, 0, 0, 0, 1, 1, 20, GGML_TYPE_F16); });
    expect_stops({"ggml_im2col_3d"},
                 [&] { ggml_im2col_3d(g, a, b, 4, 1, 1, 0, 0, 0, 0, 1, 1, 1, GGML_TYPE_F16); });
}

TEST(im2col_3d, leaves_out_channels_beyond_whole_images_and_ignores_the_number_of_kernels) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 3, 2, 7}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {10, 11, 12, 8});
    EXPECT_EQ(shape_of(ggml_im2col_3d(g, a, b, 3, 1, 1, 1, 0, 0, 0, 1, 1, 1, GGML_TYPE_F16)),
              (Shape{54, 8, 9, 22}));
    EXPECT_EQ(shape_of(ggml_im2col_3d(g, a, b, 9, 1, 1, 1, 0, 0, 0, 1, 1, 1, GGML_TYPE_F16)),
              (Shape{162, 8, 9, 0}));
}

TEST(col2im_1d, inverts_the_size_of_a_strided_window) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {12, 5, 1, 1});
    expect_node(ggml_col2im_1d(g, a, 2, 3, 1),
                {GGML_OP_COL2IM_1D, GGML_TYPE_F32, {10, 3, 1, 1}, {"a"}, {2, 3, 1}});
    expect_stops({"ggml_col2im_1d", "f32 [12, 5, 1, 1]"}, [&] { ggml_col2im_1d(g, a, 2, 5, 1); });
    expect_stops({"ggml_col2im_1d"}, [&] { ggml_col2im_1d(g, a, 0, 3, 1); });
    expect_stops({"ggml_col2im_1d"}, [&] { ggml_col2im_1d(g, a, 2, 3, 6); });
    expect_stops({"ggml_col2im_1d"}, [&] { ggml_col2im_1d(g, g.input("b", {12, 5, 2, 1}), 2, 3, 1); });
    expect_stops({"ggml_col2im_1d"}, [&] { ggml_col2im_1d(g, ggml_transpose(g, a), 2, 5, 1); });
    expect_stops({"ggml_col2im_1d"}, [&] {
        ggml_col2im_1d(g, g.input("b", {12, 5, 1, 1}, GGML_TYPE_I32), 2, 3, 1);
    });
}

} // namespace
} // namespace ggml::test
