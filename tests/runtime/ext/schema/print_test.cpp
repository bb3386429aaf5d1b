#include "tests/runtime/ext/schema/fixture.h"

namespace ggml::test {
namespace {

TEST_F(ExtSchema, a_node_prints_with_operator_inputs_and_result) {
    const ggml_ext_op_t op = new_op("print");
    EXPECT_EQ(ext::print_node(create(op, {x, scale})),
              op->full_name + "(x: f32 [8, 4], scale: f16 [8]) -> f32 [8, 4]");
}

TEST_F(ExtSchema, inputs_without_a_name_or_left_out_are_still_told_apart) {
    const ggml_ext_op_t op = new_op("print");
    ggml_set_name(scale, "");
    EXPECT_EQ(ext::print_node(create(op, {x, nullptr, scale, nullptr})),
              op->full_name + "(x: f32 [8, 4], none, src2: f16 [8]) -> f32 [8, 4]");
}

TEST_F(ExtSchema, attributes_print_as_bytes) {
    const ggml_ext_op_t op = new_op("print", 3);
    EXPECT_EQ(ext::print_node(create(op, {x}, {'\x00', '\xff', '\x2a'})),
              op->full_name + "(x: f32 [8, 4]; attrs 00ff2a) -> f32 [8, 4]");
}

TEST_F(ExtSchema, built_in_nodes_print_in_lower_case) {
    EXPECT_EQ(ext::print_node(ggml_rms_norm(ctx, x, 1e-5f)), "rms_norm(x: f32 [8, 4]) -> f32 [8, 4]");
    EXPECT_EQ(ext::print_node(ggml_gelu(ctx, x)), "gelu(x: f32 [8, 4]) -> f32 [8, 4]");
    EXPECT_EQ(ext::print_node(x), "none() -> f32 [8, 4]");
}

TEST_F(ExtSchema, printing_follows_the_rules_of_snprintf) {
    const std::string whole = ext::print_node(ggml_sqr(ctx, x));
    ASSERT_EQ(whole, "sqr(x: f32 [8, 4]) -> f32 [8, 4]");
    const ggml_tensor * node = ggml_sqr(ctx, x);
    EXPECT_EQ(ggml_ext_node_print(node, nullptr, 0), whole.size());
    EXPECT_EQ(ggml_ext_node_print(node, nullptr, 100), whole.size());
    for (const size_t size : {size_t(0), size_t(1), size_t(5), whole.size(), whole.size() + 1, size_t(99)}) {
        char text[100];
        std::memset(text, '#', sizeof(text));
        EXPECT_EQ(ggml_ext_node_print(node, text, size), whole.size());
        if (size > 0) {
            EXPECT_EQ(std::string(text), whole.substr(0, size - 1));
        }
        for (size_t i = size; i < sizeof(text); ++i) ASSERT_EQ(text[i], '#') << size << " at " << i;
    }
}

TEST_F(ExtSchema, nothing_prints_as_nothing) {
    char text[] = "before";
    EXPECT_EQ(ggml_ext_node_print(nullptr, text, sizeof(text)), 0u);
    EXPECT_STREQ(text, "");
    EXPECT_EQ(ggml_ext_last_reason(), GGML_EXT_REASON_NULL_ARGUMENT);
}

} // namespace
} // namespace ggml::test
