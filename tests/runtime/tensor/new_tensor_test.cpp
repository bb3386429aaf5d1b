#include "tests/runtime/tensor/fixture.h"

#include "runtime/tensor/context.h"

#include <array>

namespace {

class NewTensor : public ggml::test::TensorTest {};
using NewTensorDeathTest = NewTensor;

std::array<size_t, 4> strides(const ggml_tensor * t) { return {t->nb[0], t->nb[1], t->nb[2], t->nb[3]}; }

TEST_F(NewTensor, has_contiguous_strides_and_ones_behind_its_dimensions) {
    const ggml_tensor * t = ggml_new_tensor_3d(ctx, GGML_TYPE_F16, 5, 3, 2);
    EXPECT_EQ(t->ne[3], 1);
    EXPECT_EQ(strides(t), (std::array<size_t, 4>{2, 10, 30, 60}));
    EXPECT_EQ(ggml_nbytes(t), 60u);
}

TEST_F(NewTensor, counts_blocks_in_the_strides_of_quantized_types) {
    const ggml_tensor * t = ggml_new_tensor_4d(ctx, GGML_TYPE_Q4_K, 512, 3, 2, 2);
    EXPECT_EQ(strides(t), (std::array<size_t, 4>{144, 288, 864, 1728}));
    EXPECT_EQ(ggml_nbytes(t), 3456u);
}

TEST_F(NewTensor, starts_without_operator_name_or_flags) {
    const ggml_tensor * t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 7);
    EXPECT_EQ(t->op, GGML_OP_NONE);
    EXPECT_STREQ(t->name, "");
    EXPECT_EQ(t->flags, 0);
    EXPECT_EQ(t->buffer, nullptr);
    EXPECT_EQ(t->view_src, nullptr);
    EXPECT_EQ(t->extra, nullptr);
    for (const ggml_tensor * src : t->src) EXPECT_EQ(src, nullptr);
    for (const int32_t p : t->op_params) EXPECT_EQ(p, 0);
}

TEST_F(NewTensor, of_no_elements_is_legal_and_has_no_data) {
    const size_t before = ggml_used_mem(ctx);
    const ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 0, 7);
    EXPECT_EQ(t->data, nullptr);
    EXPECT_EQ(ggml_nbytes(t), 0u);
    EXPECT_EQ(ggml_used_mem(ctx) - before, ggml_tensor_overhead());
    EXPECT_TRUE(ggml_is_empty(ggml_new_tensor_2d(ctx, GGML_TYPE_Q8_0, 32, 0)));
}

TEST_F(NewTensor, accepts_types_that_are_only_named) {
    EXPECT_EQ(ggml_nbytes(ggml_new_tensor_2d(ctx, GGML_TYPE_IQ2_XXS, 256, 2)), 132u);
}

TEST_F(NewTensor, dup_copies_type_and_shape_only) {
    ggml_tensor * a = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, 4, 3);
    ggml_set_name(a, "original");
    a->nb[1] = 64;
    const ggml_tensor * b = ggml_dup_tensor(ctx, a);
    EXPECT_TRUE(ggml_are_same_shape(a, b));
    EXPECT_EQ(b->type, GGML_TYPE_F16);
    EXPECT_EQ(b->nb[1], 8u);
    EXPECT_STREQ(b->name, "");
    EXPECT_NE(b->data, a->data);
}

TEST_F(NewTensor, view_shares_data_and_strides_and_is_named_after_its_source) {
    ggml_tensor * a = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 4);
    ggml_set_name(a, "weights");
    ggml_tensor * v = ggml_view_tensor(ctx, a);
    EXPECT_EQ(v->data, a->data);
    EXPECT_EQ(v->view_src, a);
    EXPECT_STREQ(v->name, "weights (view)");
    EXPECT_TRUE(ggml_are_same_stride(a, v));
    std::swap(a->nb[0], a->nb[1]);
    EXPECT_TRUE(ggml_are_same_stride(a, ggml_view_tensor(ctx, a)));
}

TEST_F(NewTensor, views_of_views_point_at_the_owner_with_offsets_added) {
    ggml_tensor * owner = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 100);
    const int64_t ne1 = 50;
    ggml_tensor * first = ggml::new_tensor_impl(ctx, GGML_TYPE_F32, 1, &ne1, owner, 40);
    const int64_t ne2 = 10;
    ggml_tensor * second = ggml::new_tensor_impl(ctx, GGML_TYPE_F32, 1, &ne2, first, 80);
    ggml_tensor * third = ggml_view_tensor(ctx, second);
    for (const ggml_tensor * v : {second, third}) {
        EXPECT_EQ(v->view_src, owner);
        EXPECT_EQ(v->view_offs, 120u);
        EXPECT_EQ(v->data, static_cast<char *>(owner->data) + 120);
    }
}

TEST_F(NewTensor, view_of_an_unallocated_tensor_has_no_data_yet) {
    ggml_set_no_alloc(ctx, true);
    ggml_tensor * owner = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    const int64_t ne = 2;
    const ggml_tensor * v = ggml::new_tensor_impl(ctx, GGML_TYPE_F32, 1, &ne, owner, 8);
    EXPECT_EQ(v->data, nullptr);
    EXPECT_EQ(v->view_offs, 8u);
}

TEST_F(NewTensor, view_may_end_exactly_at_the_end_and_an_empty_one_anywhere) {
    ggml_tensor * owner = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    const int64_t four = 4;
    EXPECT_EQ(ggml::new_tensor_impl(ctx, GGML_TYPE_F32, 1, &four, owner, 16)->view_offs, 16u);
    const int64_t zero = 0;
    EXPECT_EQ(ggml_nbytes(ggml::new_tensor_impl(ctx, GGML_TYPE_F32, 1, &zero, owner, 32)), 0u);
}

TEST_F(NewTensorDeathTest, view_past_the_end_stops_with_both_shapes) {
    ggml_tensor * owner = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 8);
    const int64_t five = 5;
    EXPECT_DEATH(ggml::new_tensor_impl(ctx, GGML_TYPE_F32, 1, &five, owner, 16),
                 "past the end of its source: f32 \\[5, 1, 1, 1\\], f32 \\[8, 1, 1, 1\\]");
    const int64_t one = 1;
    EXPECT_DEATH(ggml::new_tensor_impl(ctx, GGML_TYPE_F32, 1, &one, owner, SIZE_MAX - 1), "past the end");
    ggml_tensor * inner = ggml::new_tensor_impl(ctx, GGML_TYPE_F32, 1, &one, owner, 16);
    EXPECT_DEATH(ggml::new_tensor_impl(ctx, GGML_TYPE_F32, 1, &one, inner, SIZE_MAX - 1), "offset overflows");
}

TEST_F(NewTensorDeathTest, impossible_shapes_stop_with_the_cause_type_and_shape) {
    EXPECT_DEATH(ggml_new_tensor_1d(ctx, GGML_TYPE_Q4_0, 33),
                 "new tensor: q4_0 rows must be a multiple of 32, got 33: q4_0 \\[33, 1, 1, 1\\]");
    EXPECT_DEATH(ggml_new_tensor_2d(ctx, GGML_TYPE_Q4_K, 100, 2),
                 "q4_K rows must be a multiple of 256, got 100");
    EXPECT_DEATH(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, -1),
                 "new tensor: a dimension is negative: f32 \\[4, -1, 1, 1\\]");
    EXPECT_DEATH(ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 1 << 20, 1 << 20, 1 << 20, 1 << 20), "too large");
    EXPECT_DEATH(ggml_new_tensor_2d(ctx, GGML_TYPE_F64, INT64_MAX / 8, 2), "too large");
    EXPECT_DEATH(ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 0, INT64_MAX, INT64_MAX, 1), "too large");
}

TEST_F(NewTensor, is_refused_with_null_where_the_caller_only_tries) {
    const size_t before = ggml_used_mem(ctx);
    EXPECT_EQ(ggml::try_new_tensor(ctx, GGML_TYPE_F32, {-1, 1, 1, 1}), nullptr);
    EXPECT_EQ(ggml::try_new_tensor(ctx, GGML_TYPE_Q4_0, {33, 1, 1, 1}), nullptr);
    EXPECT_EQ(ggml::try_new_tensor(ctx, GGML_TYPE_F32, {1 << 20, 1, 1, 1}), nullptr) << "no room";
    EXPECT_EQ(ggml::try_new_tensor(ctx, GGML_TYPE_F32, {INT64_MAX / 4, 1, 1, 1}), nullptr);
    EXPECT_EQ(ggml_used_mem(ctx), before);
    const ggml_tensor * t = ggml::try_new_tensor(ctx, GGML_TYPE_F32, {8, 4, 1, 1});
    ASSERT_NE(t, nullptr);
    EXPECT_NE(t->data, nullptr);
    EXPECT_EQ(ggml_nbytes(t), 128u);
}

TEST_F(NewTensorDeathTest, types_and_dimension_counts_that_do_not_exist_stop) {
    const int64_t ne[5] = {1, 1, 1, 1, 1};
    EXPECT_DEATH(ggml_new_tensor(ctx, GGML_TYPE_F32, 5, ne), "5 dimensions");
    EXPECT_DEATH(ggml_new_tensor(ctx, GGML_TYPE_F32, 0, ne), "0 dimensions");
    EXPECT_DEATH(ggml_new_tensor_1d(ctx, ggml_type(4), 1), "type id 4 does not exist");
    EXPECT_DEATH(ggml_new_tensor_1d(ctx, GGML_TYPE_COUNT, 1), "type id 43 does not exist");
}

} // namespace
