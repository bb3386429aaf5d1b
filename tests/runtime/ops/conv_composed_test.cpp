#include "tests/runtime/ops/op_graph.h"

namespace ggml::test {
namespace {

// Operators from the result down the first sources to an input.
std::string chain(const ggml_tensor * t) {
    std::string text;
    for (; t->op != GGML_OP_NONE;
         t = t->op == GGML_OP_IM2COL || t->op == GGML_OP_IM2COL_3D ? t->src[1] : t->src[0]) {
        text += std::string(text.empty() ? "" : " ") + ggml_op_name(t->op);
    }
    return text;
}

TEST(conv_1d, multiplies_patches_with_kernels) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 4, 7, 1}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {20, 4, 2, 1});
    ggml_tensor * t = ggml_conv_1d(g, a, b, 2, 1, 1);
    EXPECT_EQ(shape_of(t), (Shape{10, 7, 2, 1}));
    EXPECT_EQ(chain(t), "RESHAPE MUL_MAT RESHAPE IM2COL");
    EXPECT_EQ(shape_of(ggml_conv_1d_ph(g, a, b, 1, 1)), (Shape{20, 7, 2, 1}));
}

TEST(conv_1d, patches_are_half_precision_except_for_bf16_kernels) {
    OpGraph g;
    ggml_tensor * b = g.input("b", {20, 4, 1, 1});
    const auto patch_type = [&](ggml_type kernel) {
        return ggml_conv_1d(g, g.input("a", {3, 4, 7, 1}, kernel), b, 1, 1, 1)->src[0]->src[0]->src[0]->type;
    };
    EXPECT_EQ(patch_type(GGML_TYPE_F16), GGML_TYPE_F16);
    EXPECT_EQ(patch_type(GGML_TYPE_F32), GGML_TYPE_F16);
    EXPECT_EQ(patch_type(GGML_TYPE_BF16), GGML_TYPE_F32);
}

TEST(conv_1d_dw, keeps_channels_apart) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 1, 4, 1}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {20, 4, 1, 1});
    ggml_tensor * t = ggml_conv_1d_dw(g, a, b, 1, 1, 1);
    EXPECT_EQ(shape_of(t), (Shape{20, 4, 1, 1}));
    EXPECT_EQ(chain(t), "RESHAPE MUL_MAT IM2COL RESHAPE");
    EXPECT_EQ(shape_of(ggml_conv_1d_dw_ph(g, a, b, 2, 1)), (Shape{10, 4, 1, 1}));
}

TEST(conv_2d, ends_with_channels_before_the_batch) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 5, 4, 7}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {20, 30, 4, 2});
    ggml_tensor * t = ggml_conv_2d(g, a, b, 2, 3, 1, 2, 2, 1);
    EXPECT_EQ(shape_of(t), (Shape{9, 10, 7, 2}));
    EXPECT_TRUE(ggml_is_contiguous(t));
    EXPECT_EQ(chain(t), "CONT PERMUTE RESHAPE MUL_MAT RESHAPE IM2COL");
}

TEST(conv_2d, short_forms_take_stride_or_padding_from_the_kernel) {
    OpGraph g;
    EXPECT_EQ(shape_of(ggml_conv_2d_sk_p0(g, g.input("a", {16, 16, 3, 768}, GGML_TYPE_F16),
                                          g.input("b", {1024, 512, 3, 1}))),
              (Shape{64, 32, 768, 1}));
    EXPECT_EQ(shape_of(ggml_conv_2d_s1_ph(g, g.input("a", {3, 5, 8, 16}, GGML_TYPE_F16),
                                          g.input("b", {64, 32, 8, 2}))),
              (Shape{64, 32, 16, 2}));
}

TEST(conv_2d_dw, keeps_channels_apart) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 3, 1, 4}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {20, 30, 4, 2});
    ggml_tensor * t = ggml_conv_2d_dw(g, a, b, 2, 1, 1, 1, 1, 1);
    EXPECT_EQ(shape_of(t), (Shape{10, 30, 4, 2}));
    EXPECT_EQ(ggml_op_name(t->src[0]->op), ggml_op_name(GGML_OP_MUL_MAT));
}

TEST(conv_3d, splits_the_last_dimension_into_channels_and_batch) {
    OpGraph g;
    ggml_tensor * a = g.input("a", {3, 3, 2, 4 * 5}, GGML_TYPE_F16);
    ggml_tensor * b = g.input("b", {10, 11, 12, 4 * 2});
    ggml_tensor * t = ggml_conv_3d(g, a, b, 4, 1, 2, 3, 1, 1, 0, 1, 1, 2);
    EXPECT_EQ(shape_of(t), (Shape{10, 6, 4, 10}));
    EXPECT_EQ(chain(t), "RESHAPE CONT PERMUTE RESHAPE MUL_MAT RESHAPE IM2COL_3D");
    expect_stops({"ggml_conv_3d", "f32 [10, 11, 12, 8]"},
                 [&] { ggml_conv_3d(g, a, b, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1); });
    expect_stops({"ggml_conv_3d"}, [&] { ggml_conv_3d(g, a, b, 20, 1, 1, 1, 0, 0, 0, 1, 1, 1); });
    expect_stops({"ggml_reshape", "f16 [3, 3, 2, 20]"},
                 [&] { ggml_conv_3d(g, a, b, 3, 1, 1, 1, 0, 0, 0, 1, 1, 1); });
}

} // namespace
} // namespace ggml::test
