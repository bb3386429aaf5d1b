#include "tests/runtime/tensor/fixture.h"

#include <cstring>
#include <string>

namespace {

class Attributes : public ggml::test::TensorTest {
  protected:
    void SetUp() override {
        TensorTest::SetUp();
        t = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    }
    ggml_tensor * t = nullptr;
};
using AttributesDeathTest = Attributes;

TEST_F(Attributes, names_are_cut_to_the_field_and_stay_terminated) {
    const std::string longer(2 * GGML_MAX_NAME, 'n');
    EXPECT_EQ(ggml_set_name(t, longer.c_str()), t);
    EXPECT_EQ(std::string(ggml_get_name(t)), std::string(GGML_MAX_NAME - 1, 'n'));
    EXPECT_EQ(ggml_format_name(t, "%s%d", longer.c_str(), 1), t);
    EXPECT_EQ(std::string(t->name), std::string(GGML_MAX_NAME - 1, 'n'));
    const std::string exact(GGML_MAX_NAME - 1, 'e');
    ggml_set_name(t, exact.c_str());
    EXPECT_EQ(std::string(t->name), exact);
    ggml_set_name(t, "");
    EXPECT_STREQ(t->name, "");
}

TEST_F(Attributes, name_may_be_built_from_the_tensors_own_name) {
    ggml_set_name(t, "layer");
    ggml_format_name(t, "%s.%d", t->name, 3);
    EXPECT_STREQ(t->name, "layer.3");
    ggml_set_name(t, t->name + 6);
    EXPECT_STREQ(t->name, "3");
}

TEST_F(Attributes, tensors_are_found_by_their_whole_name_first_one_first) {
    ggml_tensor * other = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 4);
    ggml_set_name(t, "a");
    ggml_set_name(other, "ab");
    EXPECT_EQ(ggml_get_tensor(ctx, "a"), t);
    EXPECT_EQ(ggml_get_tensor(ctx, "ab"), other);
    EXPECT_EQ(ggml_get_tensor(ctx, "abc"), nullptr);
    ggml_set_name(other, "a");
    EXPECT_EQ(ggml_get_tensor(ctx, "a"), t);
}

TEST_F(Attributes, output_marks_the_owner_of_a_view_too) {
    ggml_tensor * view = ggml_view_tensor(ctx, t);
    ggml_set_output(view);
    EXPECT_EQ(view->flags, GGML_TENSOR_FLAG_OUTPUT);
    EXPECT_EQ(t->flags, GGML_TENSOR_FLAG_OUTPUT);
}

TEST_F(Attributes, input_and_param_mark_only_the_tensor_and_keep_other_flags) {
    ggml_tensor * view = ggml_view_tensor(ctx, t);
    ggml_set_input(view);
    EXPECT_EQ(t->flags, 0);
    ggml_set_param(view);
    EXPECT_EQ(view->flags, GGML_TENSOR_FLAG_INPUT | GGML_TENSOR_FLAG_PARAM);
    ggml_tensor * loss = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 1);
    ggml_set_loss(loss);
    EXPECT_EQ(loss->flags, GGML_TENSOR_FLAG_LOSS);
}

TEST_F(AttributesDeathTest, param_and_loss_refuse_what_they_cannot_be) {
    t->op = GGML_OP_ADD;
    EXPECT_DEATH(ggml_set_param(t), "ggml_set_param");
    EXPECT_DEATH(ggml_set_loss(t), "ggml_set_loss.*f32 \\[4, 1, 1, 1\\]");
}

TEST_F(Attributes, set_zero_clears_all_bytes_and_accepts_empty_tensors) {
    std::memset(t->data, 0xff, 16);
    EXPECT_EQ(ggml_set_zero(t), t);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(ggml_get_data_f32(t)[i], 0.0f);
    ggml_tensor * empty = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, 0);
    EXPECT_EQ(ggml_set_zero(empty), empty);
}

TEST_F(AttributesDeathTest, set_zero_refuses_a_tensor_without_memory) {
    t->data = nullptr;
    EXPECT_DEATH(ggml_set_zero(t), "ggml_set_zero: the tensor has no memory");
}

TEST_F(AttributesDeathTest, float_data_is_handed_out_for_floats_only) {
    EXPECT_EQ(ggml_get_data(t), t->data);
    EXPECT_EQ(ggml_get_data_f32(t), t->data);
    t->type = GGML_TYPE_I32;
    EXPECT_DEATH(ggml_get_data_f32(t), "does not hold f32: i32");
}

} // namespace
