#include "runtime/tensor/layout.h"

#include "tests/runtime/tensor/fixture.h"

namespace {

using ggml::Shape;
using ggml::Strides;

class Layout : public ggml::test::TensorTest {};
using LayoutDeathTest = Layout;

TEST_F(Layout, span_reaches_from_first_to_last_element) {
    ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 3);
    EXPECT_EQ(ggml_nbytes(t), 48u);
    t->nb[1] = 100; // rows with gaps
    EXPECT_EQ(ggml_nbytes(t), 2 * 100u + 16);
    t->nb[0] = 8; // every second element
    EXPECT_EQ(ggml_nbytes(t), 2 * 100u + 3 * 8 + 4);
    t->nb[1] = 0; // one row, repeated
    EXPECT_EQ(ggml_nbytes(t), 3 * 8u + 4);
}

TEST_F(Layout, span_of_blocks_counts_whole_rows) {
    ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_Q8_0, 64, 3);
    EXPECT_EQ(ggml_nbytes(t), 3 * 68u);
    t->nb[1] = 200;
    EXPECT_EQ(ggml_nbytes(t), 2 * 200u + 68);
}

TEST_F(Layout, padded_size_is_a_multiple_of_the_alignment) {
    EXPECT_EQ(ggml_nbytes_pad(ggml_new_tensor_1d(ctx, GGML_TYPE_I8, 17)), 32u);
    EXPECT_EQ(ggml_nbytes_pad(ggml_new_tensor_1d(ctx, GGML_TYPE_I8, 16)), 16u);
    EXPECT_EQ(ggml_nbytes_pad(ggml_new_tensor_1d(ctx, GGML_TYPE_I8, 0)), 0u);
}

TEST(layout, span_that_overflows_is_refused) {
    size_t bytes = 7;
    EXPECT_FALSE(ggml::span_bytes(GGML_TYPE_F32, {2, 2, 1, 1}, {4, SIZE_MAX, 0, 0}, bytes));
    EXPECT_FALSE(ggml::span_bytes(GGML_TYPE_F32, {1, 3, 1, 1}, {4, SIZE_MAX / 2, 0, 0}, bytes));
    EXPECT_FALSE(ggml::span_bytes(GGML_TYPE_Q4_0, {INT64_MAX, 1, 1, 1}, {128, 0, 0, 0}, bytes));
    EXPECT_FALSE(ggml::span_bytes(ggml_type(4), {1, 1, 1, 1}, {1, 1, 1, 1}, bytes));
    EXPECT_TRUE(ggml::span_bytes(GGML_TYPE_F32, {0, 2, 1, 1}, {4, SIZE_MAX, 0, 0}, bytes));
    EXPECT_EQ(bytes, 0u);
}

TEST(layout, contiguous_strides_refuse_partial_blocks_negatives_and_overflow) {
    Strides nb;
    EXPECT_TRUE(ggml::contiguous_strides(GGML_TYPE_Q6_K, {256, 2, 3, 4}, nb));
    EXPECT_EQ(nb, (Strides{210, 210, 420, 1260}));
    EXPECT_FALSE(ggml::contiguous_strides(GGML_TYPE_Q6_K, {128, 2, 3, 4}, nb));
    EXPECT_FALSE(ggml::contiguous_strides(GGML_TYPE_F32, {-4, 2, 3, 4}, nb));
    EXPECT_FALSE(ggml::contiguous_strides(GGML_TYPE_F32, {INT64_MAX, 1, 1, 1}, nb));
    EXPECT_FALSE(ggml::contiguous_strides(GGML_TYPE_I8, {int64_t(1) << 32, int64_t(1) << 31, 1, 1}, nb));
    EXPECT_TRUE(ggml::contiguous_strides(GGML_TYPE_I8, {INT64_MAX, 1, 1, 1}, nb));
    EXPECT_FALSE(ggml::contiguous_strides(GGML_TYPE_I8, {0, INT64_MAX, INT64_MAX, 1}, nb));
    // Blocks of the elements there would be, were the row not empty.
    EXPECT_TRUE(ggml::contiguous_strides(GGML_TYPE_Q4_0, {0, 1, INT64_MAX - 6, 1}, nb));
    EXPECT_FALSE(ggml::contiguous_strides(GGML_TYPE_Q8_0, {0, 1, INT64_MAX - 6, 1}, nb));
}

TEST_F(LayoutDeathTest, size_that_overflows_stops_with_the_shape) {
    ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 4, 3);
    t->nb[1] = SIZE_MAX;
    EXPECT_DEATH(ggml_nbytes(t), "ggml_nbytes.*f32 \\[4, 3, 1, 1\\]");
}

TEST_F(Layout, whatever_can_be_described_can_be_measured) {
    ggml_set_no_alloc(ctx, true);
    const int64_t elements = int64_t(1) << 60; // times the bytes of a block it leaves 64 bits
    EXPECT_EQ(ggml_nbytes(ggml_new_tensor_1d(ctx, GGML_TYPE_Q4_1, elements)), size_t(elements / 32 * 20));
}

TEST_F(Layout, counts_elements_rows_and_dimensions) {
    const ggml_tensor * t = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 2, 3, 5, 7);
    EXPECT_EQ(ggml_nelements(t), 210);
    EXPECT_EQ(ggml_nrows(t), 105);
    EXPECT_EQ(ggml_n_dims(t), 4);
    EXPECT_EQ(ggml_element_size(t), 4u);
    EXPECT_EQ(ggml_n_dims(ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 2, 1, 5, 1)), 3);
    EXPECT_EQ(ggml_n_dims(ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 1, 1, 1, 1)), 1);
    EXPECT_EQ(ggml_n_dims(ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 1, 2)), 2);
}

TEST_F(Layout, unravel_counts_dimension_0_fastest) {
    const ggml_tensor * t = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 2, 3, 4, 5);
    int64_t index = 0;
    for (int64_t e3 = 0; e3 < 5; ++e3)
        for (int64_t e2 = 0; e2 < 4; ++e2)
            for (int64_t e1 = 0; e1 < 3; ++e1)
                for (int64_t e0 = 0; e0 < 2; ++e0, ++index) {
                    int64_t i0, i1, i2, i3;
                    ggml_unravel_index(t, index, &i0, &i1, &i2, &i3);
                    ASSERT_EQ((Shape{i0, i1, i2, i3}), (Shape{e0, e1, e2, e3}));
                }
    int64_t only = -1;
    ggml_unravel_index(t, 119, nullptr, nullptr, &only, nullptr);
    EXPECT_EQ(only, 3);
}

TEST_F(LayoutDeathTest, unravel_refuses_a_tensor_without_elements) {
    const ggml_tensor * t = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, 0, 3);
    int64_t i0;
    EXPECT_DEATH(ggml_unravel_index(t, 0, &i0, nullptr, nullptr, nullptr), "no elements");
}

TEST_F(Layout, row_helpers_follow_strides_and_wrap_repeated_operands) {
    ggml_tensor * t = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 2, 3, 4, 5);
    const ggml::RowIndex r = ggml::row_index(t, 3 * 4 * 2 + 3 * 1 + 2);
    EXPECT_EQ(r.i1, 2);
    EXPECT_EQ(r.i2, 1);
    EXPECT_EQ(r.i3, 2);
    EXPECT_EQ(ggml::row_offset(t, r), 2 * t->nb[1] + t->nb[2] + 2 * t->nb[3]);
    const ggml_tensor * small = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 2, 1, 4, 1);
    EXPECT_EQ(ggml::repeated_row_offset(small, r), small->nb[2]);
}

} // namespace
