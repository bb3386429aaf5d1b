#include "runtime/tensor/layout.h"
#include "tests/runtime/ext/schema/fixture.h"

namespace ggml::test {
namespace {

TEST_F(ExtSchema, a_node_is_an_ordinary_tensor_with_explicit_inputs) {
    const ggml_ext_op_t op = new_op("node");
    ggml_tensor * node = create(op, {x, scale});
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->op, GGML_OP_CUSTOM);
    EXPECT_EQ(node->type, GGML_TYPE_F32);
    EXPECT_EQ(shape_of(node), shape_of(x));
    EXPECT_TRUE(ggml_is_contiguous(node));
    EXPECT_EQ(node->view_src, nullptr);
    EXPECT_EQ(node->src[0], x);
    EXPECT_EQ(node->src[1], scale);
    EXPECT_EQ(node->src[2], nullptr);
    EXPECT_EQ(node->data, nullptr);
    EXPECT_EQ(node->flags, 0);
    EXPECT_STREQ(node->name, "");
    EXPECT_STREQ(ggml_op_desc(node), op->name);
    ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, ggml_sqr(ctx, node));
    EXPECT_EQ(ggml_graph_n_nodes(graph), 2);
    EXPECT_EQ(ggml_graph_node(graph, 0), node);
    EXPECT_NE(node->flags & GGML_TENSOR_FLAG_COMPUTE, 0) << "graphs mark it like any other node";
}

TEST_F(ExtSchema, a_node_has_its_own_storage_in_a_context_that_gives_it) {
    ggml_context * storing = ggml_init({1 << 12, nullptr, false});
    ggml_tensor * y = ggml_new_tensor_1d(storing, GGML_TYPE_F32, 16);
    ggml_tensor * node = ggml_ext_op_create(storing, new_op("storing"), &y, 1, nullptr, 0);
    ASSERT_NE(node, nullptr);
    ASSERT_NE(node->data, nullptr);
    EXPECT_NE(node->data, y->data);
    std::memset(node->data, 1, ggml_nbytes(node));
    ggml_free(storing);
}

TEST_F(ExtSchema, inference_sees_inputs_and_attributes_and_starts_from_f32_of_one_element) {
    const Infer infer = [&](auto inputs, int n, const void * attrs, ggml_ext_output & out, auto) {
        EXPECT_EQ(n, 3);
        EXPECT_EQ(inputs[0], x);
        EXPECT_EQ(inputs[1], nullptr);
        EXPECT_EQ(inputs[2], scale);
        EXPECT_EQ(std::memcmp(attrs, "abc", 3), 0);
        EXPECT_EQ(out.type, GGML_TYPE_F32);
        for (const int64_t n_elements : out.ne) EXPECT_EQ(n_elements, 1);
        out.type = GGML_TYPE_Q8_0;
        out.ne[0] = 64;
        out.ne[3] = 5;
        return true;
    };
    ggml_tensor * node = create(op_of(infer, 3), {x, nullptr, scale}, {'a', 'b', 'c'});
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->type, GGML_TYPE_Q8_0);
    EXPECT_EQ(shape_of(node), (Shape{64, 1, 1, 5}));
}

TEST_F(ExtSchema, optional_inputs_may_be_left_out_anywhere_but_not_everywhere) {
    const Infer infer = [](auto, int, auto, ggml_ext_output &, auto) { return true; };
    const ggml_ext_op_t op = op_of(infer);
    ggml_tensor * node = create(op, {nullptr, x, nullptr});
    ASSERT_NE(node, nullptr);
    EXPECT_EQ(node->src[0], nullptr);
    EXPECT_EQ(node->src[1], x);
    ggml_cgraph * graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, node);
    EXPECT_EQ(ggml_graph_n_nodes(graph), 1);
    EXPECT_NE(create(op, std::vector<ggml_tensor *>(GGML_MAX_SRC, x)), nullptr);
    expect_none(GGML_EXT_REASON_INPUT_GAP, {op->name, "2"}, [&] { return create(op, {nullptr, nullptr}); });
    expect_none(GGML_EXT_REASON_INPUT_GAP, {op->name, "0"}, [&] { return create(op, {}); });
    expect_none(GGML_EXT_REASON_INPUT_GAP, {op->name},
                [&] { return ggml_ext_op_create(ctx, op, nullptr, 0, nullptr, 0); });
}

TEST_F(ExtSchema, an_output_may_be_empty) {
    const Infer infer = [](auto, int, auto, ggml_ext_output & out, auto) {
        out.ne[1] = 0;
        return true;
    };
    ggml_tensor * node = create(op_of(infer), {x});
    ASSERT_NE(node, nullptr);
    EXPECT_TRUE(ggml_is_empty(node));
}

TEST_F(ExtSchema, a_node_is_no_function_of_the_cpu) {
    ggml_tensor * node = create(new_op("foreign"), {x});
    const ggml_backend_dev_t cpu = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0);
    EXPECT_FALSE(ggml_ext_dev_supports_native_op(cpu, node));
    EXPECT_FALSE(ggml_backend_dev_supports_op(cpu, node));
    ext::forget_device(cpu);
}

TEST_F(ExtSchema, ggml_graph_compute_refuses_a_node_with_a_status) {
    ggml_context * storing = ggml_init({1 << 20, nullptr, false});
    ggml_tensor * y = ggml_new_tensor_1d(storing, GGML_TYPE_F32, 16);
    std::memset(y->data, 0, ggml_nbytes(y));
    ggml_tensor * node = ggml_ext_op_create(storing, new_op("legacy"), &y, 1, nullptr, 0);
    ggml_cgraph * graph = ggml_new_graph(storing);
    ggml_build_forward_expand(graph, node);
    LogCapture log;
    EXPECT_EQ(ggml_graph_compute_with_ctx(storing, graph, 1), GGML_STATUS_FAILED);
    EXPECT_NE(log.text, "");
    ggml_free(storing);
}

TEST_F(ExtSchema, functions_of_the_caller_still_run_and_are_no_registered_operators) {
    ggml_context * storing = ggml_init({1 << 20, nullptr, false});
    ggml_tensor * y = ggml_new_tensor_1d(storing, GGML_TYPE_F32, 4);
    for (int i = 0; i < 4; ++i) static_cast<float *>(y->data)[i] = float(i);
    const ggml_custom_op_t twice = [](ggml_tensor * dst, int, int, void *) {
        for (int i = 0; i < 4; ++i) {
            static_cast<float *>(dst->data)[i] = 2 * static_cast<const float *>(dst->src[0]->data)[i];
        }
    };
    ggml_tensor * node = ggml_custom_4d(storing, GGML_TYPE_F32, 4, 1, 1, 1, &y, 1, twice, 1, nullptr);
    ggml_cgraph * graph = ggml_new_graph(storing);
    ggml_build_forward_expand(graph, node);
    ASSERT_EQ(ggml_graph_compute_with_ctx(storing, graph, 1), GGML_STATUS_SUCCESS);
    EXPECT_EQ(static_cast<float *>(node->data)[3], 6.0f);
    EXPECT_EQ(ggml_ext_node_op(node), nullptr);
    EXPECT_EQ(ggml_ext_node_attrs(node), nullptr);
    ggml_free(storing);
}

} // namespace
} // namespace ggml::test
