#include "tools/op-bench/spec.h"

#include "ggml-cpp.h"
#include "tests/tools/op-bench/fails.h"

#include <gtest/gtest.h>

namespace op_bench {
namespace {

struct op_bench_spec : testing::Test {
    ggml_context_ptr ctx{ggml_init({1 << 20, nullptr, true})};

    // A node that reads t, made anew from what it says of its input.
    void expect_same_layout_again(ggml_tensor * t) {
        const NodeSpec spec = NodeSpec::of(ggml_cont(ctx.get(), t));
        const std::vector<ggml_tensor *> made = make_operands(ctx.get(), spec);
        ASSERT_EQ(made.size(), 1u);
        for (int d = 0; d < GGML_MAX_DIMS; ++d) {
            EXPECT_EQ(made[0]->ne[d], t->ne[d]) << d;
            if (t->ne[d] == 1) continue;
            EXPECT_EQ(made[0]->nb[d], t->nb[d]) << d;
        }
        EXPECT_EQ(made[0]->type, t->type);
    }
};

TEST_F(op_bench_spec, operands_have_the_layouts_they_are_made_from) {
    ggml_tensor * t = ggml_new_tensor_4d(ctx.get(), GGML_TYPE_F32, 6, 5, 4, 3);
    expect_same_layout_again(t);
    expect_same_layout_again(ggml_view_4d(ctx.get(), t, 3, 2, 4, 3, t->nb[1], t->nb[2], t->nb[3], 0));
    expect_same_layout_again(ggml_permute(ctx.get(), t, 0, 2, 1, 3));
    expect_same_layout_again(ggml_permute(ctx.get(), t, 1, 3, 0, 2));
    expect_same_layout_again(ggml_view_2d(ctx.get(), t, 1, 5, t->nb[1], 0));
    ggml_tensor * sparse = ggml_view_4d(ctx.get(), t, 1, 3, 5, 1, 8, t->nb[1], t->nb[2], 0);
    expect_same_layout_again(ggml_permute(ctx.get(), sparse, 3, 0, 1, 2));
    ggml_tensor * q = ggml_new_tensor_3d(ctx.get(), GGML_TYPE_Q8_0, 64, 5, 4);
    expect_same_layout_again(q);
    expect_same_layout_again(ggml_permute(ctx.get(), q, 0, 2, 1, 3));
    expect_same_layout_again(ggml_view_3d(ctx.get(), q, 32, 5, 4, q->nb[1], q->nb[2], 0));
}

TEST_F(op_bench_spec, knows_attributes_and_inputs_left_out) {
    ggml_tensor * a = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 6, 5);
    ggml_tensor * node = ggml_soft_max_ext(ctx.get(), a, nullptr, 0.5f, 0.0f);
    ggml_soft_max_add_sinks(node, ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 1));
    const NodeSpec spec = NodeSpec::of(node);
    EXPECT_EQ(spec.op, "SOFT_MAX");
    ASSERT_EQ(spec.inputs.size(), 3u);
    EXPECT_FALSE(spec.inputs[1].present);
    EXPECT_EQ(make_operands(ctx.get(), spec)[1], nullptr);
    EXPECT_EQ(attr_float(spec, 0), 0.5f);
    EXPECT_EQ(attr_float(spec, 1), 0.0f) << "zeros at the end are not kept";
    EXPECT_EQ(attr_int(spec, 100), 0);
    EXPECT_EQ(inputs_text(spec), "f32 [6, 5], f32 [1]");
}

TEST_F(op_bench_spec, refuses_sizes_and_layouts_no_tensor_has) {
    const auto make = [&](Operand o) {
        return [this, o] { (void)make_operands(ctx.get(), {"CONT", {o}, {}}); };
    };
    const int64_t large = int64_t{1} << 40;
    expect_failure(
        [&] {
            (void)Operand::contiguous(GGML_TYPE_F32, {large, large, large, large});
        },
        "is larger than the memory of any machine");
    expect_failure(
        [&] {
            (void)Operand::contiguous(GGML_TYPE_Q8_0, {33, 1, 1, 1});
        },
        "no whole blocks of 32");
    Operand o = Operand::contiguous(GGML_TYPE_F32, {4, 3, 1, 1});
    o.ne[1] = 0;
    expect_failure(make(o), "has no elements");
    o.ne[1] = -3;
    expect_failure(make(o), "has no elements");
    o.ne[1] = 3;
    Operand sparse = Operand::contiguous(GGML_TYPE_F32, {4, 3, 2, 2});
    sparse.nb = {8, 32, 96, 192};
    expect_failure(make(sparse), "has a gap behind each element");
    o.nb = {4, 18, 54, 54};
    expect_failure(make(o), "strides of no whole elements");
    o.nb = {4, SIZE_MAX / 2, 54, 54};
    expect_failure(make(o), "more memory than any machine has");
}

} // namespace
} // namespace op_bench
